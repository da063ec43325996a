// atoll-oci: the first process of a sandbox with a second kernel; see gatekeeper.h. Started by
// atoll-launcher, with the descriptors of native/agent_places.h.
#include <cstdio>

#include "guest/refusal.h"
#include "native/agent_places.h"
#include "native/oci/gatekeeper.h"

int main(int argc, char**) {
  if (argc != 1) {
    std::fprintf(stderr, "atoll-oci %s: started by atoll-launcher only\n", ATOLL_VERSION);
    return 2;
  }
  auto keeper = atl::native::Gatekeeper::create();
  if (!keeper) {
    std::fprintf(stderr, "atoll-oci: %s\n", keeper.error().message().c_str());
    atl::guest::refuse_first_call(atl::native::kAgentConnection, keeper.error());
    return 1;
  }
  return (*keeper)->run();
}
