// TarUnpacker: what an archive holds, made below one directory.
//
// Each file appears whole or not at all, by a rename; nothing is ever written through a link that
// is there, whoever made it and when (openat2, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS).
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "base/tar.h"

namespace atl::os {

struct UnpackLimits {
  uint64_t entries = 1'000'000;
  uint64_t bytes = uint64_t{64} << 30;
  bool hard_links = false;  // to files of the same directory; refused otherwise
  bool owners = false;      // what the archive says; otherwise everything is ours
};

class TarUnpacker final : public TarSink {
 public:
  // Told of each entry once it is in place.
  using OnEntry = std::function<Result<>(const TarEntry&)>;

  // `directory` is not owned.
  TarUnpacker(int directory, UnpackLimits limits, OnEntry on_entry)
      : directory_(directory), limits_(limits), on_entry_(std::move(on_entry)) {}
  ~TarUnpacker() override { abandon(); }

  Result<> begin(const TarEntry& entry) override;
  Result<> bytes(std::string_view bytes) override;
  Result<> end() override;

  // Removes the file that is under way, from a signal handler too.
  void abandon();

  uint64_t entries() const { return entries_; }
  uint64_t total_bytes() const { return bytes_; }

 private:
  Result<> open_parent(const std::string& path);
  Result<> make_directory();
  Result<> make_file();
  Result<> make_symlink();
  Result<> make_hard_link();
  Result<> put_in_place();

  int directory_;
  UnpackLimits limits_;
  OnEntry on_entry_;
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;

  TarEntry entry_;
  std::string name_;         // of the entry in its directory
  std::string parent_path_;  // of the directory that is open
  Fd parent_;
  Fd file_;
  char temporary_[32] = "";  // "" = nothing is under way
};

}  // namespace atl::os
