#include "native/user_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "os/file.h"

namespace atl::native {
namespace {

std::string line_of(const IdMapping& mapping) {
  return std::to_string(mapping.inside) + " " + std::to_string(mapping.outside) + " " +
         std::to_string(mapping.count) + "\n";
}

// Makes the namespace as `owner` and holds it open until it is told to go: a byte means "the maps
// are written", the end of the pipe means "leave".
[[noreturn]] void hold(int go, int done, uid_t owner, FurtherNamespaces further) {
  char byte = 0;
  bool fine = (owner == geteuid() ||
               (setresgid(owner, owner, owner) == 0 && setresuid(owner, owner, owner) == 0)) &&
              unshare(CLONE_NEWUSER) == 0;
  byte = fine ? 'y' : static_cast<char>(errno);
  if (write(done, &byte, 1) != 1 || !fine) _exit(1);
  fine = read(go, &byte, 1) == 1;
  if (fine && further == FurtherNamespaces::none) {
    const int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    fine = fd >= 0 && write(fd, "0\n", 2) == 2;
  }
  byte = fine ? 'y' : 'n';
  if (write(done, &byte, 1) != 1) _exit(1);
  while (read(go, &byte, 1) > 0) {
  }
  _exit(0);
}

}  // namespace

Result<Fd> make_user_namespace(const IdMapping& users, const IdMapping& groups, uid_t owner,
                               FurtherNamespaces further) {
  int go[2], done[2];
  if (pipe2(go, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd go_read(go[0]), go_write(go[1]);
  if (pipe2(done, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd done_read(done[0]), done_write(done[1]);

  const pid_t holder = fork();
  if (holder < 0) return os_error("starting a process");
  if (holder == 0) {
    close(go[1]);
    close(done[0]);
    hold(go[0], done[1], owner, further);
  }
  go_read.close();
  done_write.close();
  const auto make = [&]() -> Result<Fd> {
    char made = 0;
    if (read(done_read.get(), &made, 1) != 1) return os_error("making a user namespace");
    if (made != 'y') return os_error_from(made, "making a user namespace");
    const std::string proc = "/proc/" + std::to_string(holder);
    TRY_OK(os::write_value(AT_FDCWD, proc + "/uid_map", line_of(users)));
    TRY_OK(os::write_value(AT_FDCWD, proc + "/gid_map", line_of(groups)));
    char answer = 'n';
    if (write(go_write.get(), "m", 1) != 1 || read(done_read.get(), &answer, 1) != 1) {
      return os_error("preparing a user namespace");
    }
    if (answer != 'y') {
      return Error(Code::internal, "further user namespaces could not be forbidden");
    }
    return os::open_at(AT_FDCWD, proc + "/ns/user", O_RDONLY);
  };
  auto result = make();
  go_write.close();
  while (waitpid(holder, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!result) return std::move(result).error().with("preparing a user namespace");
  return result;
}

}  // namespace atl::native
