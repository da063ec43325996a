#include "drivers/native/native_driver.h"

#include "native/launched_driver.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_native_driver(const Context& context) {
  auto options = native::box_options("native");
  options.capabilities.users = true;
  options.most_parked = context.most_parked;
  return native::make_launched_driver(context.executor, *context.launcher, std::move(options));
}

}  // namespace atl::drivers
