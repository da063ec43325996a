// atoll-agent: see agent.h. Started by atoll-launcher, with the descriptors of
// native/agent_config.h; by a container engine, with a socket to call (caller.h); behind a second
// kernel, with a gate (gate.h); and as a file tool by itself, see tools/tool.h.
#include <cstdio>
#include <cstring>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/gate.h"
#include "agent/tools/tool.h"
#include "native/oci/gate.h"

namespace {

int refuse(const atl::Error& error) {
  std::fprintf(stderr, "atoll-agent: %s\n", error.message().c_str());
  atl::agent::tell_why_not(error);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("atoll-agent %s\n", ATOLL_VERSION);
    return 0;
  }
  if (argc > 2 && std::strcmp(argv[1], "tool") == 0)
    return atl::agent::run_tool({argv + 2, argv + argc});
  std::string socket;
  if (argc == 3 && std::strcmp(argv[1], "call") == 0) {
    socket = argv[2];
    if (auto called = atl::agent::call_first(socket); !called) return refuse(called.error());
  }
  if (argc == 2 && std::strcmp(argv[1], atl::native::kGateArgument) == 0) {
    if (auto come = atl::agent::come_in_by_gate(); !come) return refuse(come.error());
  }
  auto agent = atl::agent::Agent::create(std::move(socket));
  if (!agent) return refuse(agent.error());
  return (*agent)->run();
}
