// ContainerSpec: everything about a sandbox's container that is decided before the engine is asked.
//
// A value, made without asking anybody, and the text that the engine gets. What is not in it is the
// engine's default, so everything that makes a sandbox weaker is in it: see to_json().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "container/dialect.h"
#include "container/host_share.h"
#include "driver/spec.h"

namespace atl::container {

// Where the container finds what is ours.
constexpr std::string_view kOursInside = "/opt/atoll";
constexpr std::string_view kAgentInside = "/opt/atoll/agent";
constexpr std::string_view kDoorInside = "/opt/atoll/door";
// Where programs look for an engine.
constexpr std::string_view kSocketInside = "/var/run/docker.sock";

// Labels, by which we find what is ours and touch nothing else.
constexpr std::string_view kLabelInstance = "atoll.instance";
constexpr std::string_view kLabelDriver = "atoll.driver";
constexpr std::string_view kLabelSandbox = "atoll.sandbox";
// Of images that are of our making: whose template it is, by its id; and what a trial tries.
constexpr std::string_view kLabelTemplate = "atoll.template";
constexpr std::string_view kLabelTrial = "atoll.trial";
// How the container is made and spoken to: one of another generation is not taken up.
constexpr std::string_view kLabelGeneration = "atoll.generation";
constexpr std::string_view kGeneration = "1";
// How its agent is reached: kByRelay (agent_relay.h), otherwise it calls (agent_door.h).
constexpr std::string_view kLabelTransport = "atoll.transport";
constexpr std::string_view kByRelay = "relay";

// Its clock is not the host's: it goes on from a memory that was kept.
constexpr std::string_view kLabelOwnClock = "atoll.own-clock";

// The kernel in it, where that is not the host's: kSentry.
constexpr std::string_view kLabelKernel = "atoll.kernel";
constexpr std::string_view kSentry = "sentry";

constexpr uint64_t kDefaultPids = 100;
// The agent, its relay where there is one, and a command.
constexpr int64_t kLeastPids = 3;

struct ContainerSpec {
  std::string sandbox_id;
  std::string instance;       // whose it is
  std::string image;          // as people call it
  std::string image_id;       // names this content and no other; "" = by its name
  std::string agent;          // our program on the engine's host; "" = it is copied in
  std::string door;           // the directory with the socket that it calls; "" = by relay
  uint64_t memory_bytes = 0;  // swap included
  uint64_t disk_bytes = 0;    // of each place that can be written to
  // The root can be written to, and holds workspace and home; otherwise these are in memory.
  bool is_persistent = false;
  bool has_places = false;       // its image is of such a root, and has them
  bool limits_root = false;      // that root is limited to disk_bytes, if the engine's storage can
  bool must_limit_root = false;  // and somebody has asked for it
  uint64_t pids = kDefaultPids;
  uint64_t nano_cpus = 0;   // 0 = no ceiling
  uint64_t cpu_shares = 0;  // 0 = the usual weight
  std::string runtime;      // "" = the engine's own
  bool is_sentry = false;  // … which puts gVisor's kernel between, as make_room_for_sentry() has it
  Network network = Network::none;
  // A home besides the usual one, in memory or in the root as that is; "" = none. See
  // base/own_home.h.
  std::string home;
  std::vector<HostShare> shares;  // directories of the host
  // The engine's own, if the sandbox is to have it, and the group that may use it.
  std::string engine_socket;
  uint32_t socket_group = 0;
  std::vector<std::string> volumes;  // of the image: covered, because they would lie on the disk
};

// Code::invalid_argument for less than a container can begin with.
Result<> check_least(const Resources& asked);
// What the resources of a request come to. Code::invalid_argument for what no container can have,
// Code::unsupported for what none of these drivers can do.
Result<ContainerSpec> make_container_spec(const SandboxSpec& spec);

// The body of POST /containers/create.
std::string to_json(const ContainerSpec& spec, const Dialect& dialect);
// The body of POST /containers/ID/update: only what is given. `processors`: as many as there are,
// which is the most that an engine takes; 0 = nobody knows.
std::string to_update_json(const Resources& resources, uint64_t processors);
// The same where gVisor's kernel is one of the host's processes and needs memory of its own.
std::string to_sentry_update_json(Resources resources, uint64_t processors);
// Code::unsupported for what gVisor's kernel does not limit.
Result<> check_sentry(const Resources& asked);
// What is put into a persistent root before it starts, as a tar archive: the user's directories.
std::string root_archive(const ContainerSpec& spec);
// The agent's program, for a container that is given a copy of it.
std::string agent_archive(std::string_view program);
// A container that tells which kernel it is in, and ends; `image` has nothing in it.
std::string to_trial_json(const ContainerSpec& spec, const Dialect& dialect);
// Where a second kernel runs as processes of the host, its own memory and threads count, too:
// within the container's limits, which are wider then.
void make_room_for_sentry(ContainerSpec& spec);
// For people: one decision per line.
std::string describe(const ContainerSpec& spec);

// "atoll-sbx…"
std::string container_name(std::string_view sandbox_id);

}  // namespace atl::container
