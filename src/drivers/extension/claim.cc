#include "drivers/extension/claim.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace atl::extension {
namespace {

constexpr size_t kMostSentences = 32;
constexpr size_t kLongestSentence = 300;
constexpr int64_t kLongestLife = int64_t{10} * 365 * 24 * 3600;

Error wrong(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument,
               "capabilities." + std::string(field) + ": " + std::string(problem));
}

bool is_amount(double value) { return std::isfinite(value) && value >= 0 && value <= 1e9; }

std::string in_words(Isolation level) { return std::string(json::name_of(level)); }

}  // namespace

Result<> check_claim(const Claim& claim) {
  if (claim.network == NetworkControl::rules)
    return wrong("network", "rules cannot be told to an extension; it is none or deny");
  if (claim.max_lifetime_s && (*claim.max_lifetime_s < 1 || *claim.max_lifetime_s > kLongestLife))
    return wrong("max_lifetime_s", "it is between 1 second and 10 years");
  if (!is_amount(claim.price_per_hour.value_or(0)))
    return wrong("price_per_hour", "it is not negative, and no more than a billion");
  if (!is_amount(claim.typical_start_ms))
    return wrong("typical_start_ms", "it is not negative, and no more than a billion");
  if (claim.not_protected.size() > kMostSentences)
    return wrong("not_protected", "at most 32 sentences are allowed");
  for (const auto& sentence : claim.not_protected) {
    if (sentence.size() > kLongestSentence)
      return wrong("not_protected", "a sentence has at most 300 bytes");
  }
  return {};
}

Result<Claim> meet(const Claim& manifest, const Claim& told) {
  TRY_OK(check_claim(told));
  Claim both = manifest;
  const Placement granted = manifest.placement.value_or(Placement::third_party);
  if (told.placement.value_or(granted) > granted) {
    return Error(Code::permission_denied,
                 "it would run code at " + std::string(json::name_of(*told.placement)) +
                     ", and its manifest says " + std::string(json::name_of(granted)))
        .with_hint("add it again with a manifest that says so, if that is wanted");
  }
  both.isolation = std::min(manifest.isolation, told.isolation);
  both.limits.cpu = std::min(manifest.limits.cpu, told.limits.cpu);
  both.limits.memory = std::min(manifest.limits.memory, told.limits.memory);
  both.limits.pids = std::min(manifest.limits.pids, told.limits.pids);
  both.limits.disk = std::min(manifest.limits.disk, told.limits.disk);
  both.kill_tree = std::min(manifest.kill_tree, told.kill_tree);
  both.network = std::min(manifest.network, told.network);
  both.pause = std::min(manifest.pause, told.pause);
  both.resize = manifest.resize && told.resize;
  both.reset = manifest.reset && told.reset;
  both.pty = manifest.pty && told.pty;
  both.watch = manifest.watch && told.watch;
  both.ports = manifest.ports && told.ports;
  both.images = manifest.images && told.images;
  both.own_root = manifest.own_root && told.own_root;
  if (told.max_lifetime_s)
    both.max_lifetime_s =
        std::min(*told.max_lifetime_s, both.max_lifetime_s.value_or(*told.max_lifetime_s));
  if (told.price_per_hour)
    both.price_per_hour = std::max(*told.price_per_hour, both.price_per_hour.value_or(0));
  both.typical_start_ms = std::max(manifest.typical_start_ms, told.typical_start_ms);
  for (const auto& sentence : told.not_protected) {
    if (std::ranges::find(both.not_protected, sentence) == both.not_protected.end())
      both.not_protected.push_back(sentence);
  }
  return both;
}

Capabilities to_capabilities(const Claim& claim, Isolation trusted) {
  Capabilities can;
  can.isolation = std::min(claim.isolation, trusted);
  can.placement = claim.placement.value_or(Placement::third_party);
  can.limits = {.cpu = claim.limits.cpu,
                .memory = std::max(claim.limits.memory, Limit::per_process),
                .pids = claim.limits.pids,
                .disk = claim.limits.disk,
                .open_files = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced,
                .cpu_time = Limit::per_process};
  can.kill_tree = claim.kill_tree;
  can.network = claim.network;
  can.pause = claim.pause;
  can.resize = claim.resize;
  can.reset = claim.reset;
  can.pty = claim.pty;
  can.watch = claim.watch;
  can.ports = claim.ports;
  can.images = claim.images;
  can.own_root = claim.own_root;
  can.max_lifetime_s = claim.max_lifetime_s;
  can.price_per_hour = claim.price_per_hour;
  can.typical_start_ms = claim.typical_start_ms;
  can.not_protected.emplace_back(
      "another program makes these sandboxes: what it says that they can do is its own word");
  if (claim.isolation > trusted) {
    can.not_protected.push_back("it claims the level " + in_words(claim.isolation) +
                                ", and the operator believes " + in_words(trusted));
  }
  can.not_protected.emplace_back(
      "the way to a sandbox leads through that program: while it is dead, nobody is answered");
  can.not_protected.emplace_back(
      "the agent has the commands' user: what it tells of them is not attested");
  for (const auto& sentence : claim.not_protected)
    can.not_protected.push_back(to_printable(sentence));
  return can;
}

}  // namespace atl::extension
