#include "drivers/local/local_driver.h"

#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_local_driver(const Context& context) {
  native::LaunchedDriverOptions options;
  options.name = "local";
  options.confinement = native::Confinement::none;
  auto& can = options.capabilities;
  can.isolation = Isolation::none;
  can.typical_start_ms = 3;
  can.limits = {.memory = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced,
                .cpu_time = Limit::per_process};
  can.host_dir_rw = true;
  can.not_protected = {
      "nothing is protected: commands have every right of the user that Atoll runs as",
      "the network, the files and the processes of the host are open to them",
      "a command that leaves its session and clears its environment can outlive a timeout, though "
      "not the sandbox",
  };
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
