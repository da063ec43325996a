// Which way leads to the agent of a container: a door that it calls at, or a relay of the engine.
#pragma once

#include <memory>
#include <string>

#include "container/agent_way.h"
#include "container/container_sandbox.h"
#include "container/container_spec.h"
#include "container/first_words.h"

namespace atl::container {

enum class Calling : uint8_t { direct, relayed };

// The directory of the sandbox, with a door or a token in it.
Result<std::unique_ptr<AgentWay>> make_way(Fleet& fleet, const std::string& id, Calling calling,
                                           ContainerSpec& made, FirstWords& words);
// The same of a container that is there already.
Result<std::unique_ptr<AgentWay>> take_up_way(Fleet& fleet, const std::string& id,
                                              const ContainerState& found);

}  // namespace atl::container
