#include "drivers/docker/docker_driver.h"

#include "container/engine_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_docker_driver(const Context& context) {
  auto options = container::options_from_environment(container::kDocker);
  options.ends_with_us = context.engines.end_with_us;
  if (!context.engines.directory.empty()) {
    options.directory = context.engines.directory + "/docker";
    options.agent = context.engines.agent;
  }
  return container::make_engine_driver(context.executor, container::kDocker, std::move(options));
}

}  // namespace atl::drivers
