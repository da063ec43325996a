#include "drivers/chroot/chroot_driver.h"

#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_chroot_driver(const Context& context) {
  native::LaunchedDriverOptions options;
  options.name = "chroot";
  options.confinement = native::Confinement::tree;
  auto& can = options.capabilities;
  can.isolation = Isolation::process;
  can.limits = {.memory = Limit::per_process,
                .open_files = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced,
                .cpu_time = Limit::per_process};
  can.network = NetworkControl::deny;
  can.own_root = true;
  can.root_dir = true;
  can.templates = true;
  can.needs_root_dir = true;
  can.not_protected = {
      "commands share the kernel and the user id with the host: a kernel bug is a way out",
      "the host's process list is visible to them, where /proc can be shown at all",
      "CPU, number of processes and disk space are not limited",
      "a command that leaves its session and clears its environment can outlive a timeout",
  };
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
