// A child that is born in its control group.
//
// Moving a process there instead makes the kernel wait until every processor has passed a quiet
// point, which takes milliseconds on a machine that was idle. Only clone3() can do this, only for
// groups of version 2, and libc has no function for it.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace atl::native {

// As clone(run, stack + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, argument), in the group
// whose directory is open as `group`. `run` must not return.
pid_t clone_into(int group, int (*run)(void*), char* stack, size_t stack_bytes, void* argument);

}  // namespace atl::native
