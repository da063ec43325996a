#include "drivers/native/native_driver.h"

#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_native_driver(const Context& context) {
  native::LaunchedDriverOptions options;
  options.name = "native";
  options.confinement = native::Confinement::box;
  auto& can = options.capabilities;
  can.isolation = Isolation::container;
  // What cgroups give is asked of the host.
  can.limits = {.disk = Limit::enforced,
                .open_files = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced};
  can.network = NetworkControl::deny;
  can.own_root = true;
  can.root_dir = true;
  can.users = true;
  can.host_dir_ro = true;
  can.host_dir_rw = true;
  can.host_dir_cow = true;
  can.not_protected = {
      "sandboxes share the host's kernel: a bug in it is a way out",
      "programs in /usr are the host's, so their versions and names are visible",
      "files that a sandbox writes live in memory, and are gone with it",
  };
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
