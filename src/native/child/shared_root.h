// The part of a root that is the same for every sandbox of a kind, made once.
//
// Some hundred steps of a plan make directories, files and mounts that no sandbox can change. They
// are carried out in a mount namespace that nobody lives in. A sandbox takes a copy of the root
// from there, which costs the kernel a few dozen mounts in one call, puts it on a copy of the
// stage, and adds what is its own.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "native/plan.h"

namespace atl::native {

// Two mount namespaces in which the stage is the root: one with the sandbox's root on it, and one
// without, so that who enters it for good need not copy that twice.
struct SharedRoot {
  Fd root;
  Fd stage;
};

// Needs root's rights.
Result<SharedRoot> make_shared_root(const Plan& plan);

}  // namespace atl::native
