// What the agent is told once, at its birth. It travels from the driver through the launcher, which
// does not read it, in a sealed memory file, so that environment values touch no disk and no
// argument list.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "native/agent_places.h"

namespace atl::native {

constexpr size_t kLargestConfig = 512 * 1024;

enum class Confinement : uint8_t {
  none,
  process,  // Landlock, seccomp and rlimits, applied to each command
  box,      // namespaces and a root of its own, around the agent too: see box_facts.h
  tree,     // as process, in a copy of a tree of the host, which is the first mount
};

struct AgentMount {
  std::string guest_path;
  bool writable = false;
};

struct AgentConfig {
  std::string sandbox_id;
  std::map<std::string, std::string> env;
  Confinement confinement = Confinement::process;
  uint64_t memory_bytes = 0;  // per process; 0 = no limit
  uint64_t open_files = 0;    // per process; 0 = no limit of ours
  uint64_t ring_bytes = 1 << 20;
  bool workspace_writable = true;
  bool dies_with_connection = false;  // the embedded engine's sandboxes end with it
  bool parked = false;                // waits for its environment, and until then ends with it, too
  std::string warm;  // of a parked sandbox: an interpreter to start ahead, too; "" = none
  // When it ends by itself (Clock::boot()), where no launcher ends it; zero = never.
  Micros expires_at{0};
  std::vector<AgentMount> mounts;
};

std::string encode(const AgentConfig& config);
Result<AgentConfig> decode_agent_config(std::string_view bytes);

}  // namespace atl::native
