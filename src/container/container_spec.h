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
#include "driver/spec.h"

namespace atl::container {

// Where the container finds what is ours.
constexpr std::string_view kAgentInside = "/opt/atoll/agent";
constexpr std::string_view kDoorInside = "/opt/atoll/door";

// Labels, by which we find what is ours and touch nothing else.
constexpr std::string_view kLabelInstance = "atoll.instance";
constexpr std::string_view kLabelDriver = "atoll.driver";
constexpr std::string_view kLabelSandbox = "atoll.sandbox";
// How the container is made and spoken to: one of another generation is not taken up.
constexpr std::string_view kLabelGeneration = "atoll.generation";
constexpr std::string_view kGeneration = "1";

constexpr uint64_t kDefaultPids = 100;

struct ContainerSpec {
  std::string sandbox_id;
  std::string instance;  // whose it is
  std::string image;
  std::string agent;          // our program on the host
  std::string door;           // the directory with the socket that it calls
  uint64_t memory_bytes = 0;  // swap included
  uint64_t disk_bytes = 0;    // of each place that can be written to
  uint64_t pids = kDefaultPids;
  uint64_t nano_cpus = 0;            // 0 = no ceiling
  uint64_t cpu_shares = 0;           // 0 = the usual weight
  std::vector<std::string> volumes;  // of the image: covered, because they would lie on the disk
};

// What the resources of a request come to. Code::invalid_argument for what no container can have,
// Code::unsupported for what none of these drivers can do.
Result<ContainerSpec> make_container_spec(const SandboxSpec& spec);

// The body of POST /containers/create.
std::string to_json(const ContainerSpec& spec, const Dialect& dialect);
// The body of POST /containers/ID/update: only what is given.
std::string to_update_json(const Resources& resources);
// For people: one decision per line.
std::string describe(const ContainerSpec& spec);

// "atoll-sbx…"
std::string container_name(std::string_view sandbox_id);

}  // namespace atl::container
