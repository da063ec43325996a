// Profile: a named, versioned recipe for sandboxes, "python@2".
//
// What it does not say, the request and then the daemon decide. `min_isolation`, `placement`,
// `workspace`, `network` and `mount_roots` are bounds: whoever uses or inherits a profile may
// tighten them and never loosen them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "base/result.h"
#include "driver/capabilities.h"
#include "driver/snapshot.h"
#include "driver/spec.h"
#include "policy/ending.h"
#include "policy/pool_settings.h"
#include "policy/startup.h"
#include "policy/strategy.h"

namespace atl::policy {

// What a request means that wants none, and what a sandbox shows that was made without one.
inline constexpr std::string_view kNoProfile = "none";

// How long a sandbox of this profile is used.
enum class Scope : uint8_t {
  session,    // as long as whoever made it likes
  run,        // for one command; it cannot be made to stay
  agent,      // by all sessions of an agent; made by opening one
  workspace,  // by all sessions of a workspace; the same
  shared,     // by all sessions of the tenant; the same
};
BOOST_DESCRIBE_ENUM(Scope, session, run, agent, workspace, shared)

// How much a sandbox may have of the host's directories, least first.
enum class Workspace : uint8_t { isolated, ro, cow, rw };
BOOST_DESCRIBE_ENUM(Workspace, isolated, ro, cow, rw)

struct ProfileReference {
  std::string name;                // 1 to 63 of [a-z0-9_-], beginning with a letter
  std::optional<int64_t> version;  // absent = the highest

  std::string text() const;
};

// "NAME[@VERSION]"; Code::invalid_argument for what is none.
Result<ProfileReference> parse_profile_reference(std::string_view text);

struct Profile {
  std::string name;
  int64_t version = 1;
  std::string inherits;  // a reference; "" = nothing
  std::string description;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::optional<Persistence> persistence;
  std::optional<Life> lifecycle;           // settles the scope where that is not said
  std::optional<SnapshotKind> checkpoint;  // what Persistence::checkpoint keeps
  std::optional<Scope> scope;
  std::optional<Workspace> workspace;
  std::optional<Network> network;  // at most; `none` also wants a driver that cuts it off
  // Directories of the host must lie below one of these; absent = as the driver is configured.
  std::optional<std::vector<std::string>> mount_roots;
  // Its sandboxes are shown the engine's socket. They rule the host with it, so they count as
  // Isolation::none.
  std::optional<bool> allow_docker_socket;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::optional<OnEnd> on_expire;
  std::optional<OnEnd> on_idle;
  std::optional<int64_t> keep_s;
  std::optional<OnFailure> on_failure;
  Resources resources;
  std::optional<std::string> image;
  std::optional<std::string> template_;
  std::optional<std::string> user;
  std::optional<std::string> home;
  std::optional<std::string> workdir;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> labels;
  std::optional<std::vector<std::string>> drivers;   // the order of preference
  std::optional<std::vector<std::string>> fallback;  // then these; absent = any other
  std::optional<Strategy> strategy;                  // how either of them is ordered
  std::map<std::string, std::string> driver_labels;  // which a driver must have
  std::optional<int64_t> timeout_ms;                 // of each command
  Startup startup;
  std::optional<PoolAsk> pool;  // kept ready by a daemon; of this profile alone, never inherited

  std::string reference() const { return name + "@" + std::to_string(version); }
  // What was said, or what the lifecycle means.
  Scope used_for() const;
};

// Whether what is used like that can live like that: `persistent` is held by nobody, `ephemeral` is
// for single commands, `workspace` is held by sessions. Code::invalid_argument otherwise.
Result<> check_life(Life life, Scope scope);

}  // namespace atl::policy
