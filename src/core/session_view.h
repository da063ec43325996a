// A session: somebody's hold on a sandbox that others may hold, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/enum.hpp>

#include "base/clock.h"

namespace atl {

inline constexpr std::chrono::seconds kDefaultSessionLife{300};
inline constexpr std::chrono::seconds kShortestSessionLife{5};
inline constexpr std::chrono::seconds kLongestSessionLife{24 * 3'600};

// Who shares the sandbox of a session.
enum class SessionScope : uint8_t {
  session,    // nobody
  agent,      // all sessions of one agent
  workspace,  // all of one workspace, by its name
  shared,     // all of the tenant
};
BOOST_DESCRIBE_ENUM(SessionScope, session, agent, workspace, shared)

// Whether whoever knows the key may come in.
constexpr bool is_for_all(std::optional<SessionScope> scope) {
  return scope == SessionScope::workspace || scope == SessionScope::shared;
}

struct SessionAsk {
  std::optional<SessionScope> scope;  // absent: as the profile says, or `session`
  std::string key;                    // of a workspace or an agent; "" = the caller's own
  std::optional<std::chrono::seconds> ttl;
};

struct SessionView {
  std::string id;
  std::string tenant;
  std::string owner;  // the Caller::subject that opened it
  SessionScope scope = SessionScope::session;
  std::string key;
  std::string sandbox;  // its id
  WallTime created_at{};
  WallTime expires_at{};
  size_t holders = 0;  // sessions that hold the sandbox, this one among them
};

}  // namespace atl
