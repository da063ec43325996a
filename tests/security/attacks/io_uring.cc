// io_uring does what other calls do, past a filter that looks at those calls, and has been a rich
// source of kernel bugs.
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

std::string missing_uring() {
  const auto level = read_all("/proc/sys/kernel/io_uring_disabled");
  if (level && (*level)[0] != '0') return "io_uring_disabled is set on this host";
  io_uring_params shape{};
  const long made = syscall(SYS_io_uring_setup, 2, &shape);
  if (made < 0) return "the kernel has no io_uring";
  close(static_cast<int>(made));
  return "";
}

}  // namespace

ATTACK(io_uring_ring, .title = "set up an io_uring", .dossier = 11, .stopped_by = Layer::seccomp,
       .missing = missing_uring) {
  io_uring_params shape{};
  const long ring = syscall(SYS_io_uring_setup, 2, &shape);
  if (ring < 0) return denied("io_uring_setup");
  close(static_cast<int>(ring));
  return reached("a ring");
}
