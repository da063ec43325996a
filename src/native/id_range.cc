#include "native/id_range.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "os/file.h"

namespace atl::native {

Result<Fd> open_id_directory() {
  for (const char* path : {"/run/atoll", "/run/atoll/ids"}) {
    if (mkdir(path, 0711) != 0 && errno != EEXIST) return os_error("making", path);
  }
  TRY(auto directory, os::open_at(AT_FDCWD, "/run/atoll/ids", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info{};
  if (fstat(directory.get(), &info) != 0) return os_error("looking at", "/run/atoll/ids");
  if (info.st_uid != 0 || (info.st_mode & 0022) != 0) {
    return Error(Code::permission_denied, "/run/atoll/ids can be changed by others than root");
  }
  return directory;
}

Result<IdRange> take_id_range(const Fd& directory, uint32_t hint) {
  for (uint32_t i = 0; i < kIdRanges; ++i) {
    IdRange range;
    range.slot = (hint + i) % kIdRanges;
    TRY(range.lock, os::open_at(directory.get(), std::to_string(range.slot),
                                O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
    if (flock(range.lock.get(), LOCK_EX | LOCK_NB) == 0) return range;
    if (errno != EWOULDBLOCK) return os_error("locking a range of ids");
  }
  return Error(Code::resource_exhausted, "every range of user ids is in use");
}

}  // namespace atl::native
