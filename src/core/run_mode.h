// A run mode: a named route, as `run_mode` of a configuration file or a request says it.
//
//   auto             any driver, as without a run mode
//   docker           docker, then native
//   wasm             wasm, then docker, then native
//   any other kind   that driver alone: native, local, gvisor, firecracker …
//
// A mode says where to look and in which order. What a sandbox must at least have is the floor's
// business: a driver of the mode that is weaker is passed over, and no mode but `local`,
// `subprocess` and `chroot` themselves has a driver below `container` in it.
#pragma once

#include "core/engine.h"

namespace atl {

// Makes the mode's drivers the request's, instead of a profile's; nothing without a mode.
// Code::invalid_argument for a mode that nobody knows or that comes with a driver,
// Code::unsupported for one that divides work between drivers.
Result<> settle_run_mode(CreateRequest& request);

}  // namespace atl
