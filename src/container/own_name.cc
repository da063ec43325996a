#include "container/own_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/ids.h"
#include "os/file.h"

namespace atl::container {
namespace {

constexpr size_t kLength = 24;

std::string path_of_name(const std::string& directory) { return directory + "-name"; }

}  // namespace

Result<std::string> own_name(const std::string& directory) {
  if (directory.empty()) return std::string();  // of a program that makes no containers
  const std::string path = path_of_name(directory);
  auto kept = os::read_file(AT_FDCWD, path, kLength);
  if (kept && kept->size() == kLength) return kept;
  if (kept) {
    return Error(Code::internal, "what is in " + path + " is no name")
        .with_hint("restore it, or remove it: the sandboxes on that engine are nobody's then");
  }
  if (kept.error().os_errno() != ENOENT) return std::move(kept).error();
  const std::string parent = directory.substr(0, directory.rfind('/'));
  if (mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) return os_error("making", parent);
  TRY(const auto above, os::open_at(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY));
  std::string name = random_name(kLength);
  TRY_OK(os::replace_file(above.get(), path.substr(parent.size() + 1), name, 0600));
  return name;
}

void forget_own_name(const std::string& directory) { unlink(path_of_name(directory).c_str()); }

}  // namespace atl::container
