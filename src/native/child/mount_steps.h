// Carrying out the steps of a plan that make up the root file system, in the child.
#pragma once

#include "native/child/box_child.h"

namespace atl::native {

// Makes the stage: a small tmpfs over the host's root in a mount namespace of the child's own, and
// enters it. Gives 0, or -1 with errno.
int enter_stage();

// Afterwards nothing of the host is left but what the steps have taken of it.
int make_stage_the_root();

// Instead of a stage of its own: a copy of one on which the first steps are carried out already,
// see shared_root.h.
int enter_shared(const BoxLaunch& launch);

// Carries out one step; gives 0, or -1 with errno.
int carry_out(const BoxLaunch& launch, const Step& step);

// Opens `path` of the stage for the agent.
int open_on_stage(const char* path);

}  // namespace atl::native
