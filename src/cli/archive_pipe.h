// ArchivePipe: a directory as an archive that can be read from a descriptor while it is made.
#pragma once

#include <thread>

#include "os/tar_pack.h"

namespace atl::cli {

class ArchivePipe final {
 public:
  ArchivePipe() = default;
  ~ArchivePipe();
  ArchivePipe(const ArchivePipe&) = delete;
  ArchivePipe& operator=(const ArchivePipe&) = delete;

  // Where the archive comes out. `directory` stays open until finish().
  Result<Fd> start(const Fd& directory, os::OnSkipped on_skipped,
                   TarLinks links = TarLinks::inside);
  // Waits for the end, after the descriptor was read or closed. An archive whose reader left is no
  // error of ours.
  Result<os::Packed> finish();

 private:
  std::thread thread_;
  Result<os::Packed> packed_ = os::Packed{};
};

}  // namespace atl::cli
