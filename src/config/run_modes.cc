#include "config/run_modes.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace atl::config {
namespace {

constexpr std::string_view kAny = "auto";

// Modes of more than their own kind. Each is followed by what is no weaker than a container.
struct Chain {
  std::string_view name;
  std::array<std::string_view, 2> then;  // "" = no more
};
constexpr Chain kChains[] = {{"docker", {"native", ""}}, {"wasm", {"docker", "native"}}};

std::string_view level_of(const std::string& driver) {
  const Kind* kind = find_kind(driver);
  return kind == nullptr ? std::string_view() : kind->level;
}

}  // namespace

std::optional<RunMode> find_run_mode(std::string_view word) {
  if (to_snake_case(word) == kAny) return RunMode{.name = std::string(kAny), .drivers = {}};
  const Kind* kind = find_kind(word);
  if (kind == nullptr) return std::nullopt;
  RunMode mode{.name = std::string(kind->name), .drivers = {std::string(kind->name)}};
  for (const Chain& chain : kChains) {
    if (chain.name != kind->name) continue;
    for (const std::string_view next : chain.then) {
      if (!next.empty()) mode.drivers.emplace_back(next);
    }
  }
  return mode;
}

std::vector<std::string> run_mode_names() {
  std::vector<std::string> names = kind_names();
  names.insert(names.begin(), std::string(kAny));
  return names;
}

std::string_view weakest_level(const RunMode& mode) {
  if (mode.drivers.empty()) return "process";  // the router takes nothing weaker unless it is named
  return std::ranges::min(mode.drivers | std::views::transform(level_of), {}, level_rank);
}

std::string_view strongest_level(const RunMode& mode) {
  if (mode.drivers.empty()) return "vm";
  return std::ranges::max(mode.drivers | std::views::transform(level_of), {}, level_rank);
}

}  // namespace atl::config
