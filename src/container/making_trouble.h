// Whose trouble it is when an engine that answers does not make or start a container: the
// request's, or its own.
//
// An engine whose runtime or storage is broken answers its ping and fails every create. It says so
// with the status of its own failure (5xx), with which engines tell wrong requests, too, in the
// runtime's words; and docker takes a missing shim or runtime for a wrong command. No request names
// the first program of a container, which is our agent, so that is the engine's.
#pragma once

#include "base/error.h"
#include "container/container_spec.h"

namespace atl::container {

// Code::unavailable for what is the engine's own trouble, in its words, so that another driver may
// make the sandbox. What the request has brought about, by its limits, its image or the runtime
// that it names, stays as it is.
Error told_while_making(Error why, const ContainerSpec& made);

}  // namespace atl::container
