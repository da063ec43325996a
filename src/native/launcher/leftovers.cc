#include "native/launcher/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/ids.h"
#include "native/launcher_protocol.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::native {
namespace {

constexpr int kRounds = 4;

void reclaim(int base, const std::string& name,
             const std::function<void(const std::string& id)>& remove_cgroups) {
  auto run = os::open_at(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!run || flock(run->get(), LOCK_EX | LOCK_NB) != 0) return;
  if (auto boxes =
          os::open_at(run->get(), kSandboxesDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)) {
    // The agent itself ends with its connection; its processes end with it unless it was killed.
    for (const auto& id : os::names_in(boxes->get())) {
      if (!is_sandbox_id(id)) continue;
      kill_stragglers(id);
      remove_cgroups(id);
    }
  }
  static_cast<void>(os::remove_tree(base, name));
}

}  // namespace

void kill_stragglers(const std::string& sandbox_id) {
  const std::string mark = "ATOLL_SANDBOX_ID=" + sandbox_id;
  for (int round = 0; round < kRounds; ++round) {
    bool found = false;
    for (const auto& process : os::all_processes()) {
      if (process.state == 'Z' || process.pid == getpid() ||
          !os::has_environment(process.pid, mark))
        continue;
      auto pidfd = os::open_pidfd(process.pid, process.start_ticks);
      // Now that it is held, what is read about its pid is about it, or the signal reaches nobody.
      if (!pidfd || !os::has_environment(process.pid, mark)) continue;
      static_cast<void>(os::send_signal(*pidfd, SIGKILL));
      found = true;
    }
    if (!found) return;
  }
}

void reclaim_abandoned_runs(int run_directory,
                            const std::function<void(const std::string& id)>& remove_cgroups) {
  auto base = os::open_at(run_directory, "..", O_RDONLY | O_DIRECTORY);
  // Somebody who makes a directory of their own, or reclaims, holds this lock; they will not need
  // us.
  if (!base || flock(base->get(), LOCK_EX | LOCK_NB) != 0) return;
  for (const auto& name : os::names_in(base->get())) {
    if (name.starts_with("run-")) reclaim(base->get(), name, remove_cgroups);
  }
}

}  // namespace atl::native
