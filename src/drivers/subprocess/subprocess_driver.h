// `subprocess`: commands run as ordinary processes of the host, confined by what the kernel gives
// to everybody.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_subprocess_driver(const Context& context);

}  // namespace atl::drivers
