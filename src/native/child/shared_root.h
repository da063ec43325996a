// The part of a root that is the same for every sandbox of a kind, made once.
//
// Some hundred steps of a plan make directories, files and mounts that no sandbox can change. They
// are carried out in a mount namespace that nobody lives in; a sandbox begins with a copy of that,
// which costs the kernel a few dozen mounts in one call, and adds what is its own.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "native/plan.h"

namespace atl::native {

// The namespace, in which the stage is the root. Needs root's rights.
Result<Fd> make_shared_root(const Plan& plan);

}  // namespace atl::native
