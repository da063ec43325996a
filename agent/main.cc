// atoll-agent: see agent.h. Started by atoll-launcher, with the descriptors of
// native/agent_config.h, and as a file tool by itself, see tools/tool.h.
#include <cstdio>
#include <cstring>

#include "agent/agent.h"
#include "agent/tools/tool.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("atoll-agent %s\n", ATOLL_VERSION);
    return 0;
  }
  if (argc > 2 && std::strcmp(argv[1], "tool") == 0)
    return atl::agent::run_tool({argv + 2, argv + argc});
  auto agent = atl::agent::Agent::create();
  if (!agent) {
    std::fprintf(stderr, "atoll-agent: %s\n", agent.error().message().c_str());
    atl::agent::tell_why_not(agent.error());
    return 1;
  }
  return (*agent)->run();
}
