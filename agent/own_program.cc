#include "agent/own_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace atl::agent {

Result<Fd> copy_own_program() {
  TRY(const auto own, os::open_at(AT_FDCWD, "/proc/self/exe", O_RDONLY));
  struct stat info{};
  if (fstat(own.get(), &info) != 0) return os_error("looking at our own program");
  Fd copy(memfd_create("atoll-tool", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return os_error("making a copy of our own program");
  for (off_t at = 0; at < info.st_size;) {
    const ssize_t sent =
        sendfile(copy.get(), own.get(), &at, static_cast<size_t>(info.st_size - at));
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return os_error("copying our own program");
  }
  if (fchmod(copy.get(), 0755) != 0 ||
      fcntl(copy.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return os_error("sealing a copy of our own program");
  return copy;
}

}  // namespace atl::agent
