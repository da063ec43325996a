// Loaded into every program behind gVisor's kernel that has a dynamic loader (/etc/ld.so.preload).
//
// Its older versions refuse AT_NO_AUTOMOUNT, which ls and stat of newer systems always ask for, and
// refuse it in the call that the C library would fall back to as well. Nothing is mounted by being
// looked at there, so the flag means nothing. No library is needed but the program's own.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int statx(int directory, const char* path,
                                                            int flags, unsigned mask,
                                                            struct statx* info) noexcept {
  return static_cast<int>(
      syscall(SYS_statx, directory, path, flags & ~AT_NO_AUTOMOUNT, mask, info));
}
