#include "drivers/gvisor/gvisor_driver.h"

#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_gvisor_driver(const Context& context) {
  auto options = native::box_options("gvisor");
  options.sentry = true;
  options.most_parked = context.most_parked;
  // Who ends with us keeps nothing.
  if (!context.engines.directory.empty() && !context.engines.end_with_us)
    options.snapshots = context.engines.directory + "/gvisor-snapshots";
  auto& can = options.capabilities;
  can.isolation = Isolation::sentry;
  can.typical_start_ms = 200;
  can.users = true;
  can.host_dir_rw = false;
  can.not_protected = {
      "programs in /usr are the host's, so their versions and names are visible",
      "processes are not counted inside: too many for the host end the whole sandbox",
      "memory is limited for each process, by its address space",
      "all processes together end the sandbox beyond the limit and 256 MiB for gVisor itself",
      "a command that leaves its session and clears its environment can outlive a timeout",
      "a command that was started as root can end the agent, and the sandbox with it",
      "files that a sandbox writes are gone with it",
  };
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
