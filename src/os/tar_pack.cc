#include "os/tar_pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "os/file.h"

namespace atl::os {
namespace {

constexpr size_t kPiece = 64 * 1024;

using Write = std::function<Result<>(std::string_view)>;

Result<> send_content(int fd, uint64_t size, const std::string& path, const Write& write) {
  std::string buffer(kPiece, '\0');
  for (uint64_t left = size; left > 0;) {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(left, buffer.size()));
    const ssize_t got = read(fd, buffer.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading", to_printable(path));
    if (got == 0)
      return Error(Code::conflict, "'" + to_printable(path) + "' became shorter while it was read");
    TRY_OK(write(std::string_view(buffer).substr(0, static_cast<size_t>(got))));
    left -= static_cast<uint64_t>(got);
  }
  return write(tar_padding(size));
}

// Whether a reader of ours would take it: asked of the reader itself.
bool is_taken(const std::string& header, TarLinks links) {
  class Nothing final : public TarSink {
    Result<> begin(const TarEntry&) override { return {}; }
    Result<> bytes(std::string_view) override { return {}; }
    Result<> end() override { return {}; }
  } nothing;
  return TarReader(nothing, links).put(header).has_value();
}

}  // namespace

Result<Packed> pack_tree(int start, const std::string& name, PackLimits limits, const Write& write,
                         const OnSkipped& on_skipped) {
  Packed packed;
  const auto leave_out = [&](const std::string& path, std::string_view why) {
    ++packed.skipped;
    if (on_skipped) on_skipped(path, why);
    return WalkStep::leave_out;
  };
  const auto visit = [&](const WalkedFile& file) -> Result<WalkStep> {
    const mode_t mode = file.info.st_mode;
    TarEntry entry;
    entry.path = file.path.empty() && !S_ISDIR(mode) ? name : file.path;
    entry.mode = mode & 0777;
    entry.modified_at = file.info.st_mtim.tv_sec;
    if (limits.owners) {
      entry.owner = file.info.st_uid;
      entry.group = file.info.st_gid;
    }
    Fd content;
    if (S_ISLNK(mode)) {
      entry.kind = TarKind::symlink;
      entry.link_target = file.link_target();
      if (!is_taken(tar_header(entry), limits.links))
        return leave_out(entry.path, "a link that leads outside");
    } else if (S_ISDIR(mode)) {
      entry.kind = TarKind::directory;
    } else if (S_ISREG(mode)) {
      auto opened = file.open(O_RDONLY | O_NONBLOCK | O_NOCTTY);
      struct stat now{};
      if (!opened || fstat(opened->get(), &now) != 0)
        return leave_out(entry.path, "a file that cannot be read");
      content = std::move(*opened);
      entry.size = static_cast<uint64_t>(now.st_size);
    } else {
      return leave_out(entry.path, "a special file");
    }
    if (entry.size > limits.bytes - packed.bytes)
      return Error(Code::too_large,
                   "there are more than " + std::to_string(limits.bytes) + " bytes to pack");
    const std::string header = tar_header(entry);
    if (!is_taken(header, limits.links)) return leave_out(entry.path, "a name that is too long");
    TRY_OK(write(header));
    if (content) TRY_OK(send_content(content.get(), entry.size, entry.path, write));
    packed.bytes += entry.size;
    ++packed.entries;
    return WalkStep::go_on;
  };
  TRY(const auto walked, walk_tree(start, limits.walk, visit));
  if (walked.is_cut)
    return Error(Code::too_large,
                 "there are more than " + std::to_string(limits.walk.files) + " files to pack");
  packed.skipped += walked.skipped;
  TRY_OK(write(tar_end()));
  return packed;
}

}  // namespace atl::os
