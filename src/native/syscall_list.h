// Every system call that Atoll knows, and what a sandbox may do with it.
//
// The list is complete on x86-64: each number that the kernel has given out stands in exactly one
// group, so that a call is allowed or refused because somebody thought about it. A name that an
// architecture lacks is left out there; on x86-64, which has them all, a misspelt one does not
// compile.
#pragma once

#include <cstdint>
#include <span>

namespace atl::native {

enum class CallRule : uint8_t {
  allow,
  by_arguments,  // seccomp.cc has a check for each of these
  debug,         // allowed to debuggers and what they debug, EPERM otherwise
  refuse,        // EPERM
  absent,        // ENOSYS: programs probe for it and have another way
};

struct SystemCall {
  const char* name;
  uint32_t number;
};
// The number of a name that this architecture lacks.
inline constexpr uint32_t kNoSuchCall = UINT32_MAX;

struct CallGroup {
  CallRule rule;
  std::span<const SystemCall> calls;
};

std::span<const CallGroup> system_call_groups();

// Greater numbers are calls of kernels to come.
uint32_t newest_known_call();

}  // namespace atl::native
