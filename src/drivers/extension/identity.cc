#include "drivers/extension/identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/ids.h"
#include "crypto/hash.h"
#include "os/file.h"

namespace atl::extension {
namespace {

constexpr size_t kInstance = 24;
constexpr size_t kSecret = 52;

}  // namespace

std::string Identity::token_for(std::string_view sandbox) const {
  const auto digest = crypto::hmac_sha256(secret, sandbox);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Result<Identity> get_identity(const std::string& path) {
  auto kept = os::read_file(AT_FDCWD, path, kInstance + kSecret);
  if (kept && kept->size() == kInstance + kSecret)
    return Identity{kept->substr(0, kInstance), kept->substr(kInstance)};
  if (kept) {
    return Error(Code::internal, "what is in " + path + " is no identity")
        .with_hint("restore it, or remove it: the extension's sandboxes are nobody's then");
  }
  if (kept.error().os_errno() != ENOENT) return std::move(kept).error();
  const std::string parent = path.substr(0, path.rfind('/'));
  if (mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) return os_error("making", parent);
  TRY(const auto above, os::open_at(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY));
  Identity made{random_name(kInstance), random_name(kSecret)};
  const std::string name = path.substr(parent.size() + 1);
  TRY_OK(os::replace_file(above.get(), name, made.instance + made.secret, 0600));
  // It must be there as long as the sandboxes, which may be on another machine.
  TRY(const auto file, os::open_at(above.get(), name, O_RDONLY));
  if (fsync(file.get()) != 0 || fsync(above.get()) != 0) return os_error("keeping", path);
  return made;
}

}  // namespace atl::extension
