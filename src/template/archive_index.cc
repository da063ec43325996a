#include "template/archive_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/tar.h"
#include "base/text.h"

namespace atl {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMostNames = 20'000;
constexpr int kMostHops = 4;

// "a/layer.tar" and "../b/layer.tar" → "b/layer.tar"; nothing for what leads out of the archive.
std::optional<std::string> resolve(const std::string& path, const std::string& target) {
  if (target.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts = split(path, '/');
  parts.pop_back();
  for (const auto& part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  std::string joined;
  for (const auto& part : parts) joined += (joined.empty() ? "" : "/") + part;
  return joined;
}

class Noting final : public TarSink {
 public:
  Noting(std::map<std::string, ArchivePart>& files, std::map<std::string, std::string>& links)
      : files_(files), links_(links) {}

  void watch(const TarReader& reader) { reader_ = &reader; }

  Result<> begin(const TarEntry& entry) override {
    if (files_.size() + links_.size() >= kMostNames) return {};
    if (entry.kind == TarKind::file) {
      // Of two with one name the last counts, as when they are unpacked.
      files_[entry.path] = {reader_->position(), entry.size};
    } else if (entry.kind == TarKind::hard_link) {
      links_[entry.path] = entry.link_target;
    } else if (entry.kind == TarKind::symlink) {
      if (auto leads = resolve(entry.path, entry.link_target))
        links_[entry.path] = *std::move(leads);
    }
    return {};
  }
  Result<> bytes(std::string_view) override { return {}; }
  Result<> end() override { return {}; }

 private:
  std::map<std::string, ArchivePart>& files_;
  std::map<std::string, std::string>& links_;
  const TarReader* reader_ = nullptr;
};

}  // namespace

Result<> read_part(int fd, ArchivePart part, const OnPiece& on_piece) {
  std::string buffer(kPiece, '\0');
  while (part.size > 0) {
    const auto most = static_cast<size_t>(std::min<uint64_t>(part.size, buffer.size()));
    const ssize_t got = pread(fd, buffer.data(), most, static_cast<off_t>(part.offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading the archive");
    if (got == 0) return Error(Code::invalid_argument, "the archive ends before its end");
    TRY_OK(on_piece(std::string_view(buffer).substr(0, static_cast<size_t>(got))));
    part.offset += static_cast<uint64_t>(got);
    part.size -= static_cast<uint64_t>(got);
  }
  return {};
}

Result<ArchiveIndex> ArchiveIndex::read(int fd, const std::function<Result<>()>& go_on) {
  ArchiveIndex index(fd);
  struct stat info{};
  if (fstat(fd, &info) != 0) return os_error("looking at the archive");
  index.size_ = static_cast<uint64_t>(info.st_size);
  Noting noting(index.files_, index.links_);
  TarReader reader(noting, TarLinks::any, TarSpecials::left_out);
  noting.watch(reader);
  TRY_OK(read_part(fd, {0, index.size_}, [&](std::string_view piece) -> Result<> {
    TRY_OK(go_on());
    return reader.put(piece);
  }));
  TRY_OK(reader.finish());
  return index;
}

std::optional<ArchivePart> ArchiveIndex::find(const std::string& path) const {
  std::string at = path;
  for (int hop = 0; hop < kMostHops; ++hop) {
    if (const auto file = files_.find(at); file != files_.end()) return file->second;
    const auto link = links_.find(at);
    if (link == links_.end()) return std::nullopt;
    at = link->second;
  }
  return std::nullopt;
}

Result<std::string> ArchiveIndex::text(const std::string& path, size_t limit) const {
  const auto part = find(path);
  const std::string shown = "'" + to_printable(path.substr(0, 200)) + "'";
  if (!part) return Error(Code::invalid_argument, "the archive lacks " + shown);
  if (part->size > limit) return Error(Code::too_large, shown + " is too large");
  std::string text;
  TRY_OK(read_part(fd_, *part, [&](std::string_view piece) -> Result<> {
    text += piece;
    return {};
  }));
  return text;
}

}  // namespace atl
