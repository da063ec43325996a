#include "template/tree_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.h"
#include "base/text.h"
#include "crypto/hash.h"
#include "os/tree_walk.h"

namespace atl {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr std::string_view kFormat = "atoll tree 1";

class Digesting final {
 public:
  explicit Digesting(const std::function<Result<>()>& go_on)
      : go_on_(go_on), buffer_(kPiece, '\0') {
    whole_.put(kFormat);
  }

  Result<os::WalkStep> take(const os::WalkedFile& file) {
    if (file.path.empty()) return os::WalkStep::go_on;
    TRY_OK(go_on_());
    ++digest_.files;
    const mode_t mode = file.info.st_mode;
    ByteWriter entry;
    entry.text(file.path);
    entry.u32(mode & (S_IFMT | 07777));
    if (S_ISREG(mode)) {
      entry.i64(file.info.st_mtim.tv_sec);
      TRY(const auto content, content_of(file));
      entry.text(content);
    } else if (S_ISLNK(mode)) {
      entry.text(file.link_target());
    } else if (!S_ISDIR(mode)) {
      return Error(Code::internal, "a template's tree has a special file");
    }
    whole_.put(entry.bytes());
    return os::WalkStep::go_on;
  }

  TreeDigest finish() {
    digest_.hex = whole_.finish();
    return digest_;
  }

 private:
  Result<std::string> content_of(const os::WalkedFile& file) {
    TRY(const auto fd, file.open(O_RDONLY));
    crypto::Sha256 content;
    for (;;) {
      const ssize_t got = read(fd.get(), buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return os_error("reading back", to_printable(file.path));
      if (got == 0) return content.finish();
      content.put(std::string_view(buffer_).substr(0, static_cast<size_t>(got)));
      digest_.bytes += static_cast<uint64_t>(got);
      TRY_OK(go_on_());
    }
  }

  const std::function<Result<>()>& go_on_;
  std::string buffer_;
  crypto::Sha256 whole_;
  TreeDigest digest_;
};

}  // namespace

Result<TreeDigest> digest_tree(int tree, const std::function<Result<>()>& go_on) {
  Digesting digesting(go_on);
  TRY(const auto walked,
      os::walk_tree(tree, {.depth = 255, .files = 2'000'000},
                    [&](const os::WalkedFile& file) { return digesting.take(file); }));
  if (walked.is_cut || walked.skipped > 0)
    return Error(Code::internal, "a part of the template's tree cannot be read back");
  return digesting.finish();
}

}  // namespace atl
