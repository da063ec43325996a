// `podman`: containers of a local Podman service.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_podman_driver(const Context& context);

}  // namespace atl::drivers
