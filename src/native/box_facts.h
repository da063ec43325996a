// What the launcher tells the agent about the sandbox that it has made; it follows the token in the
// agent's pipe. The driver's AgentConfig says what was asked, this says what is.
//
// The descriptors of a boxed agent after kAgentToken, in this order:
//   the lock on its range of ids (only held), `work` of each cgroup tree, the files of /proc that
//   the agent writes, and for each copy of a host directory its upper and its lower directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "native/cgroup.h"
#include "native/layers.h"
#include "native/plan.h"

namespace atl::native {

constexpr int kBoxFirstDescriptor = 7;

struct BoxFacts {
  bool boxed = false;  // everything below is for boxed agents
  bool rootless = false;
  bool has_own_root = false;
  bool has_id_lock = false;
  bool allow_ptrace = false;
  LayerSet without;
  CgroupVersion cgroup_version = CgroupVersion::none;
  std::vector<uint8_t> work_roles;
  std::vector<std::string> copies;  // the guest paths of host directories that are copied on write
  std::vector<std::string> shown;   // and those of every host directory
  std::vector<PlannedLimit> rlimits;
  uint64_t root_capabilities = 0;
  uint64_t memory_bytes = 0;
  uint32_t processors = 1;
  // What the host's kernel calls itself, told to an agent that must find itself in another one; see
  // oci/gate.h. "" = there is only one.
  std::string outer_kernel;
};

std::string encode(const BoxFacts& facts);
Result<BoxFacts> decode_box_facts(std::string_view bytes);

BoxFacts facts_of(const Plan& plan);

}  // namespace atl::native
