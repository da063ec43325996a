// Claim: what an extension says that its sandboxes can do, and what of it counts.
//
// A claim is words. The operator has read those of the manifest and said how far they are believed;
// what the program itself says later can only take away from that. What the agent does in every
// sandbox (output, time, open files, memory per process) is asked of nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/capabilities.h"
#include "json/describe.h"

namespace atl::extension {

struct ClaimedLimits {
  Limit cpu = Limit::none;
  Limit memory = Limit::none;
  Limit pids = Limit::none;
  Limit disk = Limit::none;

  static constexpr auto kRequired = json::required();
};
BOOST_DESCRIBE_STRUCT(ClaimedLimits, (), (cpu, memory, pids, disk))

struct Claim {
  Isolation isolation = Isolation::none;
  std::optional<Placement> placement;  // of a manifest, it is there
  ClaimedLimits limits;
  KillTree kill_tree = KillTree::best_effort;
  NetworkControl network = NetworkControl::none;  // rules cannot be told to an extension
  Pause pause = Pause::none;
  bool resize = false;
  bool reset = false;
  bool pty = false;
  bool watch = false;
  bool ports = false;
  bool images = false;
  bool own_root = false;
  std::optional<int64_t> max_lifetime_s;
  std::optional<double> price_per_hour;
  double typical_start_ms = 0;
  std::vector<std::string> not_protected;

  static constexpr auto kRequired = json::required("isolation");
};
BOOST_DESCRIBE_STRUCT(Claim, (),
                      (isolation, placement, limits, kill_tree, network, pause, resize, reset, pty,
                       watch, ports, images, own_root, max_lifetime_s, price_per_hour,
                       typical_start_ms, not_protected))

// Code::invalid_argument for what no driver can be: negative times, a book of sentences.
Result<> check_claim(const Claim& claim);

// What both say. Code::permission_denied when the program would run code farther away than the
// manifest allows.
Result<Claim> meet(const Claim& manifest, const Claim& told);

// What the router decides on; `trusted` is the level that the operator believes at most.
Capabilities to_capabilities(const Claim& claim, Isolation trusted);

}  // namespace atl::extension
