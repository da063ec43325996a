// atoll-agent: see agent.h. Started by atoll-launcher only, with the descriptors of
// native/agent_config.h.
#include <cstdio>

#include "agent/agent.h"

int main() {
  auto agent = atl::agent::Agent::create();
  if (!agent) {
    std::fprintf(stderr, "atoll-agent: %s\n", agent.error().message().c_str());
    return 1;
  }
  return (*agent)->run();
}
