// Kinds of sandboxes as configuration files name them, whether this Atoll has a driver for them or
// not.
//
// A file written for another host, or for a later version, can be checked here. Whether a driver
// really is there, and what it can do, its probe tells.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atl::config {

// What a vendor documents as the most that one sandbox can have; absent where nobody has said.
struct Maxima {
  std::optional<int64_t> memory_mb;
  std::optional<double> cpus;
  std::optional<int64_t> disk_mb;
  std::optional<int64_t> timeout_s;
};

enum class Place : uint8_t { ours, third_party };

struct Kind {
  std::string_view name;
  std::array<std::string_view, 4> aliases;  // "" = no more
  std::string_view level;                   // an isolation level; "" = the vendor's business
  Place place = Place::ours;
  Maxima most = {};
};

std::span<const Kind> all_kinds();
// By name or alias; camelCase and dashes are taken. Null for words that name none.
const Kind* find_kind(std::string_view word);
std::vector<std::string> kind_names();

// 0 for "none" up to 4 for "vm"; -1 for what is no level.
int level_rank(std::string_view level);

// A run mode that divides work between a primary and a secondary sandbox.
bool is_hybrid(std::string_view run_mode);

// "pidsLimit" → "pids_limit", "min-isolation" → "min_isolation".
std::string to_snake_case(std::string_view word);

}  // namespace atl::config
