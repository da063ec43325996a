// `rootless`: the same sandbox made by an ordinary user, with what the host gives to one.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_rootless_driver(const Context& context);

}  // namespace atl::drivers
