#include "drivers/podman/podman_driver.h"

#include "drivers/over_engine.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_podman_driver(const Context& context) {
  return make_over_engine(context, container::kPodman);
}

}  // namespace atl::drivers
