#include "drivers/podman/podman_driver.h"

#include "container/engine_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_podman_driver(const Context& context) {
  auto options = container::options_from_environment(container::kPodman);
  options.ends_with_us = context.engines.end_with_us;
  if (!context.engines.directory.empty()) {
    options.directory = context.engines.directory + "/podman";
    options.agent = context.engines.agent;
  }
  return container::make_engine_driver(context.executor, container::kPodman, std::move(options));
}

}  // namespace atl::drivers
