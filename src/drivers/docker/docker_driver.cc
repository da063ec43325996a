#include "drivers/docker/docker_driver.h"

#include "drivers/over_engine.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_docker_driver(const Context& context) {
  return make_over_engine(context, container::kDocker);
}

}  // namespace atl::drivers
