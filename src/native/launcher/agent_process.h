// Starting one agent: the descriptors of native/agent_places.h put in place, privileges of the
// launcher given up.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "native/box_facts.h"
#include "native/child/box_child.h"

namespace atl::native {

// Whom sandboxes of the `local` and `subprocess` drivers run as: whoever owns the launcher's
// socket. A launcher that is root gives its rights up on the way, so that asking it for a sandbox
// is never a way to become root.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct AgentDescriptors {
  int connection = -1;
  int listener = -1;
  int config = -1;
  int token = -1;
  int workspace = -1;
  int temporary = -1;
  std::vector<int> mounts;
};

// Who has it may speak to the agent.
std::string random_token();
// What the agent reads from kAgentToken: a pipe that holds it and then ends.
Result<Fd> told_pipe(const std::string& token, const BoxFacts& facts);

// `program` is the agent's open executable.
Result<StartedAgent> start_agent(int program, const AgentDescriptors& descriptors,
                                 const Identity& identity);

}  // namespace atl::native
