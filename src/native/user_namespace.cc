#include "native/user_namespace.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "native/child/in_child.h"
#include "native/child/raw_call.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::native {
namespace {

std::string line_of(const IdMapping& mapping) {
  return std::to_string(mapping.inside) + " " + std::to_string(mapping.outside) + " " +
         std::to_string(mapping.count) + "\n";
}

constexpr size_t kStackBytes = 16 * 1024;
constexpr int kPatienceMs = 5'000;

struct Holding {
  pid_t parent = 0;
  uid_t owner = 0;
  int done = -1;  // takes 0, or why not
};

// Makes the namespace and stays in it until it is killed. It runs beside its parent, on the
// same memory and descriptors: a copy of the launcher with all that it has open would cost more
// than the namespace.
ATOLL_IN_CHILD int hold(void* argument) {
  const Holding& holding = *static_cast<const Holding*>(argument);
  const long id = holding.owner;
  // Who is left alone would hold all that the launcher had open, and with it the next one up. Every
  // change of rights takes this back.
  const auto end_with_parent = [&]() ATOLL_IN_CHILD {
    raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (raw_call(SYS_getppid) != holding.parent) raw_call(SYS_exit_group, 1);
  };
  end_with_parent();
  long failure = 0;
  if (raw_call(SYS_geteuid) != id) {
    failure = raw_call(SYS_setresgid, id, id, id);
    if (failure == 0) failure = raw_call(SYS_setresuid, id, id, id);
  }
  if (failure == 0) failure = raw_call(SYS_unshare, CLONE_NEWUSER);
  end_with_parent();
  const char told = static_cast<char>(-failure);
  raw_call(SYS_write, holding.done, reinterpret_cast<long>(&told), 1);
  if (failure != 0) return 1;
  for (;;) raw_call(SYS_pause);
}

// The end of a holder that was killed is not seen here: its end of the pipe is ours, too.
Result<> await(const Fd& done, const char* what) {
  pollfd waited{done.get(), POLLIN, 0};
  int ready = 0;
  while ((ready = poll(&waited, 1, kPatienceMs)) < 0 && errno == EINTR) {
  }
  if (ready == 0) return Error(Code::deadline_exceeded, std::string(what) + " takes too long");
  char failure = EIO;
  if (ready > 0 && read(done.get(), &failure, 1) == 1 && failure == 0) return {};
  return os_error_from(failure, what);
}

}  // namespace

Result<Fd> make_user_namespace(const IdMapping& users, const IdMapping& groups, uid_t owner) {
  // One at a time, so one stack serves them all.
  static char* const stack =
      static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (stack == MAP_FAILED) return os_error("allocating a stack");
  int done[2];
  if (pipe2(done, O_CLOEXEC) != 0) return os_error("making a pipe");
  const Fd done_read(done[0]), done_write(done[1]);

  Holding holding{getpid(), owner, done[1]};
  const pid_t holder = clone(hold, stack + kStackBytes, CLONE_VM | CLONE_FILES | SIGCHLD, &holding);
  if (holder < 0) return os::process_error(errno, "starting a process");
  const auto make = [&]() -> Result<Fd> {
    TRY_OK(await(done_read, "making a user namespace"));
    const std::string proc = "/proc/" + std::to_string(holder);
    TRY_OK(os::write_value(AT_FDCWD, proc + "/uid_map", line_of(users)));
    TRY_OK(os::write_value(AT_FDCWD, proc + "/gid_map", line_of(groups)));
    return os::open_at(AT_FDCWD, proc + "/ns/user", O_RDONLY);
  };
  auto result = make();
  kill(holder, SIGKILL);  // the namespace lives on in its descriptor
  while (waitpid(holder, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!result) return std::move(result).error().with("preparing a user namespace");
  return result;
}

}  // namespace atl::native
