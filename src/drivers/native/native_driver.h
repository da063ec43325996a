// `native`: the built-in Linux sandbox. Needs a launcher with the rights of root; see
// src/native/launcher.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_native_driver(const Context& context);

}  // namespace atl::drivers
