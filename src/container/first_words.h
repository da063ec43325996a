// FirstWords: what the agent of a container is told, instead of what the launcher would say: it is
// alone with one user, and the engine has made everything that is around it.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "container/container_spec.h"
#include "driver/spec.h"
#include "native/agent_config.h"
#include "native/box_facts.h"

namespace atl::container {

struct FirstWords {
  native::AgentConfig config;
  native::BoxFacts facts;
  std::string token = std::string(native::kTokenBytes, '\0');  // of an agent that calls, nobody's

  // For an agent whose clock is so much ahead of ours. Code::too_large when the environment is.
  Result<std::string> encoded(Micros clock_ahead) const;
};

FirstWords make_first_words(const SandboxSpec& spec, const ContainerSpec& made, bool ends_with_us);

// A moment of our clock on the agent's; zero stays what it is: never.
Micros on_clock(Micros moment, Micros clock_ahead);

}  // namespace atl::container
