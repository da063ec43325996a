// What `docker` and `podman` have in common: a driver over an engine.
#pragma once

#include <memory>

#include "container/dialect.h"
#include "drivers/registry.h"

namespace atl::drivers {

// With the settings that the environment has for this engine, and a directory of its own.
std::unique_ptr<Driver> make_over_engine(const Context& context, const container::Dialect& dialect);

}  // namespace atl::drivers
