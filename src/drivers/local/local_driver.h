// `local`: commands run on the host itself, in a directory, unprotected and at full speed.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_local_driver(const Context& context);

}  // namespace atl::drivers
