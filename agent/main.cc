// atoll-agent: see agent.h. Started by atoll-launcher only, with the descriptors of
// native/agent_config.h.
#include <cstdio>
#include <cstring>

#include "agent/agent.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("atoll-agent %s\n", ATOLL_VERSION);
    return 0;
  }
  auto agent = atl::agent::Agent::create();
  if (!agent) {
    std::fprintf(stderr, "atoll-agent: %s\n", agent.error().message().c_str());
    return 1;
  }
  return (*agent)->run();
}
