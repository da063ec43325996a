#include "container/agent_ways.h"

#include "container/agent_door.h"
#include "container/agent_relay.h"

namespace atl::container {

Result<std::unique_ptr<AgentWay>> make_way(Fleet& fleet, const std::string& id, Calling calling,
                                           ContainerSpec& made, FirstWords& words) {
  if (calling == Calling::direct) {
    TRY(auto door, AgentDoor::make(fleet.executor, fleet.directory, id));
    made.door = door->path();
    return std::unique_ptr<AgentWay>(std::move(door));
  }
  TRY(auto relay, AgentRelay::make(fleet.client, fleet.directory, id));
  words.token = relay->token();
  return std::unique_ptr<AgentWay>(std::move(relay));
}

Result<std::unique_ptr<AgentWay>> take_up_way(Fleet& fleet, const std::string& id,
                                              const ContainerState& found) {
  if (found.transport == kByRelay) {
    TRY(auto relay, AgentRelay::take_up(fleet.client, fleet.directory, id));
    return std::unique_ptr<AgentWay>(std::move(relay));
  }
  TRY(auto door, AgentDoor::take_up(fleet.executor, fleet.directory, id));
  door->expect(found.pid);
  return std::unique_ptr<AgentWay>(std::move(door));
}

}  // namespace atl::container
