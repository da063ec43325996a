// `chroot`: commands run as with `subprocess`, in a copy of a root file system that the user gives.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_chroot_driver(const Context& context);

}  // namespace atl::drivers
