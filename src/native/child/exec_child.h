// The way from clone() to exec(): everything is decided before, the child only carries it out.
//
// The child shares the parent's memory until it execs (CLONE_VM | CLONE_VFORK), which is what makes
// starting a process cost the same from a large parent as from a small one. So between the two it
// must not allocate, lock, or touch anything but its plan; a layer of the policy that cannot be
// applied ends it before exec (fail closed).
#pragma once

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>

#include "base/result.h"

namespace atl::native {

enum class ChildStage : int {
  none,
  cgroup,
  stdio,
  root,
  directory,
  limits,
  identity,
  privileges,
  landlock,
  seccomp,
  exec,
};

struct ChildLimit {
  int resource;
  rlimit value;
};

// Everything is borrowed and must stay valid until spawn_child returns.
struct ChildPlan {
  const char* const* programs = nullptr;  // paths to try in order, ended by nullptr
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const int* joins = nullptr;  // files of control groups, each joined by writing "0" into it
  size_t join_count = 0;
  int birthplace = -1;  // instead, where the kernel can: the directory of a group of version 2
  int stdio[3] = {-1, -1, -1};  // all above 2
  int more[2] = {-1, -1};       // 3 and 4, if there are any; given above 4
  bool has_terminal = false;    // stdio is one, and becomes the session's own
  int root = -1;                // to enter, or -1
  int directory = -1;
  const ChildLimit* limits = nullptr;
  size_t limit_count = 0;
  bool change_identity = false;
  uint32_t uid = 0, gid = 0;  // without further groups
  bool no_new_privileges = false;
  bool drop_capabilities = false;
  uint64_t kept_capabilities = 0;  // of those that are dropped otherwise
  // For a kernel without securebits: what exec gives back to uid 0 is bounded instead.
  bool bound_capabilities = false;
  bool inherit_descriptors = false;  // only a weakened sandbox of the security suite
  int landlock = -1;                 // ruleset, or -1
  const sock_fprog* seccomp = nullptr;

  // Told by the child.
  ChildStage failed_at = ChildStage::none;
  int failure = 0;
};

// Starts the child in a session of its own; it dies with the calling thread. Returns its pid, or
// why it did not get as far as exec (failed_at says where, and the child is already reaped).
Result<pid_t> spawn_child(ChildPlan& plan);

const char* to_text(ChildStage stage);

}  // namespace atl::native
