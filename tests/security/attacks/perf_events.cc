// Opens a performance counter of its own task: a target of exploits, and a window for side
// channels.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

std::string missing_perf() {
  const auto level = read_all("/proc/sys/kernel/perf_event_paranoid");
  if (!level) return "the kernel has no perf events";
  return atoi(level->c_str()) > 2 ? "perf_event_paranoid is above 2 on this host" : "";
}

}  // namespace

ATTACK(perf_event, .title = "open a performance counter", .dossier = 9,
       .stopped_by = Layer::seccomp, .missing = missing_perf) {
  perf_event_attr wish{};
  wish.type = PERF_TYPE_SOFTWARE;
  wish.size = sizeof wish;
  wish.config = PERF_COUNT_SW_TASK_CLOCK;
  wish.exclude_kernel = 1;
  wish.exclude_hv = 1;
  const long counter = syscall(SYS_perf_event_open, &wish, 0, -1, -1, 0);
  if (counter < 0) return denied("perf_event_open");
  close(static_cast<int>(counter));
  return reached("a performance counter");
}
