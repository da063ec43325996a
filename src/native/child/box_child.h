// The way from clone() to the agent's exec(): a plan carried out, in a new set of namespaces.
//
// As in exec_child.h the child shares the launcher's memory until it execs, and does nothing but
// system calls: no allocation, no locks, no C++ runtime services. Whatever fails ends it before the
// agent runs, and `failed_at` and `subject` say where.
//
// The order matters:
//   1. cgroups first, so that everything that follows is already counted;
//   2. mounts, while the child still has the launcher's rights over the host's namespaces;
//   3. the user namespace last: all others then belong to the host, and a capability that is
//      regained inside has no power over them (rootless has no choice, and begins with it);
//   4. capabilities, no_new_privs, Landlock: each can only take away, so the next must not be
//      needed by the one before. Seccomp comes last, as the first thing that the agent does: its
//      filter takes many lines to build and none of the launcher's rights.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "native/plan.h"

namespace atl::native {

enum class BoxStage : int {
  none,
  identity,
  cgroup,
  network,
  hostname,
  stage,
  step,  // `subject` is its target
  descriptors,
  user_namespace,
  capabilities,
  no_new_privileges,
  landlock,
  exec,
};

// A directory of the request. With the launcher's rights it comes detached from the host's tree;
// without, the child looks it up again and makes sure that it is the same.
struct BoxTree {
  int descriptor = -1;
  const char* path = nullptr;
  dev_t device = 0;
  ino_t inode = 0;
};

// Everything is borrowed and must stay valid until start_box returns.
struct BoxLaunch {
  const Plan* plan = nullptr;
  int program = -1;            // the agent
  const int* given = nullptr;  // its descriptors from kAgentConnection on
  size_t given_count = 0;
  int shared_root = -1;  // see shared_root.h; -1 = the child carries out every step
  int shared_stage = -1;
  const BoxTree* trees = nullptr;
  size_t tree_count = 0;
  // Made by start_box if it is empty; nullptr = the clone makes one that nobody keeps.
  Fd* network = nullptr;
  int home_network = -1;
  int user_namespace = -1;  // entered at the end; -1 = made by the clone itself
  uint32_t first_id = 0;    // of the range: what 0 inside is outside
  uid_t outer_user = 0;     // rootless: who we are
  gid_t outer_group = 0;
  const int* joins = nullptr;  // cgroup.procs, see BoxCgroups
  size_t join_count = 0;
  size_t leave_count = 0;  // of these, the last
  int hand_down = -1;
  const char* hand_down_text = "";
  int landlock = -1;  // a ruleset without rules
  int landlock_abi = 0;
  const int* work_groups = nullptr;  // directories that the agent may write below
  size_t work_group_count = 0;

  int first_not_copied = 0;  // set by start_box

  // Told by the child.
  BoxStage failed_at = BoxStage::none;
  int failure = 0;
  const char* subject = "";
};

struct StartedAgent {
  pid_t pid = 0;
  Fd pidfd;
};

// Descriptors from here on are not copied into the child, unless the launch needs them: what the
// launcher keeps of every sandbox belongs there, or each child costs more than the one before.
inline constexpr int kNotForChildren = 1024;

Result<StartedAgent> start_box(BoxLaunch& launch);

// A network namespace with nothing but a loopback interface, or an empty descriptor with errno. The
// calling thread enters it and comes back to `home`.
Fd make_network(int home);

const char* to_text(BoxStage stage);

}  // namespace atl::native
