// ArchiveIndex: where the files of an image's archive are, so that they can be read in the order
// that its manifest gives rather than the one they came in.
//
// An archive that holds a root file system is one, too; it only has no manifest. Names beyond the
// first thousands are not noted: no image has so many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl {

struct ArchivePart {
  uint64_t offset = 0;
  uint64_t size = 0;
};

using OnPiece = std::function<Result<>(std::string_view)>;

class ArchiveIndex final {
 public:
  // Reads all of the uncompressed archive in `fd`, which is not owned. `on_piece` is asked now and
  // then whether to go on.
  static Result<ArchiveIndex> read(int fd, const std::function<Result<>()>& go_on);

  // Through links of the archive's own, as older versions of Docker have for equal layers.
  std::optional<ArchivePart> find(const std::string& path) const;
  // Code::invalid_argument if it is missing, Code::too_large beyond the limit.
  Result<std::string> text(const std::string& path, size_t limit) const;

  uint64_t size() const { return size_; }

 private:
  explicit ArchiveIndex(int fd) : fd_(fd) {}

  int fd_;
  uint64_t size_ = 0;
  std::map<std::string, ArchivePart> files_;
  std::map<std::string, std::string> links_;  // where each leads, below the archive
};

// A part of a file in pieces.
Result<> read_part(int fd, ArchivePart part, const OnPiece& on_piece);

}  // namespace atl
