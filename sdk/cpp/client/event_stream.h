// What becomes of a daemon's sandboxes, as it happens, through broken connections.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "client/connection.h"
#include "json/value.h"

namespace atl::client {

struct EventQuery {
  std::string filter;  // "runs=true&state=running", percent-encoded
  std::string after;   // the id of the last event that is known; "" = from now on
  // How long a daemon that has answered may be away.
  std::chrono::milliseconds away = std::chrono::minutes(1);
};

enum class Follow : uint8_t { on, end };

// Until `on_event` ends it. Nothing is missed and nothing comes twice; where that cannot be, the
// daemon tells an event of the type `reset`. The first connection must succeed.
Task<> follow_events(Connection& connection, EventQuery query,
                     std::function<Result<Follow>(const json::Value& event)> on_event);

}  // namespace atl::client
