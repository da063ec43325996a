#include "cli/archive_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace atl::cli {

ArchivePipe::~ArchivePipe() {
  if (thread_.joinable()) thread_.join();
}

Result<Fd> ArchivePipe::start(const Fd& directory, os::OnSkipped on_skipped, TarLinks links) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd out(ends[0]);
  thread_ =
      std::thread([this, in = Fd(ends[1]), start = directory.get(), on_skipped, links]() mutable {
        packed_ = os::pack_tree(
            start, "", {.links = links},
            [&](std::string_view bytes) { return os::write_all(in.get(), bytes); }, on_skipped);
        in.close();
      });
  return out;
}

Result<os::Packed> ArchivePipe::finish() {
  if (thread_.joinable()) thread_.join();
  if (!packed_ && packed_.error().os_errno() == EPIPE) return os::Packed{};
  return packed_;
}

}  // namespace atl::cli
