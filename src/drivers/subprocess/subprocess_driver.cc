#include "drivers/subprocess/subprocess_driver.h"

#include "native/landlock.h"
#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_subprocess_driver(const Context& context) {
  native::LaunchedDriverOptions options;
  options.name = "subprocess";
  options.confinement = native::Confinement::process;
  auto& can = options.capabilities;
  can.isolation = Isolation::process;
  can.typical_start_ms = 3;
  can.limits = {.memory = Limit::per_process,
                .open_files = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced,
                .cpu_time = Limit::per_process};
  can.network = NetworkControl::deny;
  can.host_dir_ro = true;
  can.host_dir_rw = true;
  can.not_protected = {
      "commands share the kernel and the user id with the host: a kernel bug is a way out",
      "the process list and the system's programs are visible to them",
      "mode and times of the same user's files can be changed anywhere, so do not run it as root",
      "CPU, number of processes and disk space are not limited",
      "a command that leaves its session and clears its environment can outlive a timeout",
  };
  if (native::landlock_abi() < 6) {
    can.not_protected.emplace_back(
        "this kernel's Landlock (below ABI 6) lets commands signal processes of the same user");
  }
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
