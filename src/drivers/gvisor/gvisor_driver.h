// `gvisor`: a box of `native` with gVisor's kernel (runsc) inside, which serves the commands in the
// place of the host's. Needs runsc, and a launcher with the rights of root; see
// src/native/oci/gatekeeper.h.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_gvisor_driver(const Context& context);

}  // namespace atl::drivers
