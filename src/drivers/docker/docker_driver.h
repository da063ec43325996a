// `docker`: containers of a Docker engine, on this host or elsewhere.
#pragma once

#include <memory>

#include "drivers/registry.h"

namespace atl::drivers {

std::unique_ptr<Driver> make_docker_driver(const Context& context);

}  // namespace atl::drivers
