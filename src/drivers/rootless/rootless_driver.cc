#include "drivers/rootless/rootless_driver.h"

#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_rootless_driver(const Context& context) {
  auto options = native::box_options("rootless");
  options.rootless = true;
  auto& open = options.capabilities.not_protected;
  open.emplace_back("outside, every sandbox has the caller's own user id");
  open.emplace_back(
      "the agent has the same user id as the commands, so what it says about them is not attested");
  options.most_parked = context.most_parked;
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
