// The scorecard of `atoll doctor --attack`: which attacks there are, how each fared, and what that
// is worth.
//
// An attack counts as stopped only if it ran in a sandbox and was denied. What cannot be run here,
// and what the driver has no layer against, is listed as not covered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace atl::cli {

// As `atoll-attack --list` tells it.
struct AttackInfo {
  std::string name;
  std::string title;
  std::string cve;
  std::string user;     // "root" or "user", inside
  std::string setting;  // what it needs around it: "plain" is one run in a fresh sandbox
  std::vector<std::string> stopped_by;  // layers
  std::vector<std::string> rootless;    // the same on a driver without root
};

Result<std::vector<AttackInfo>> parse_catalogue(std::string_view text);

enum class AttackOutcome : uint8_t { denied, reached, not_applicable, not_covered, broken };
std::string_view to_string(AttackOutcome outcome);

struct AttackRow {
  AttackInfo attack;
  std::string claim;  // what claims to stop it: "seccomp, landlock"
  AttackOutcome outcome = AttackOutcome::broken;
  std::string detail;
};

// What one run in a sandbox shows; `result` is of POST /v1/runs.
void judge_run(AttackRow& row, const json::Value& result);

struct AttackedDriver {
  std::string name;
  std::string isolation;
  bool has_users = false;    // commands can be root inside
  bool has_cgroups = false;  // on this host
};

// The layers that claim to stop an attack on a driver, of those that the driver has.
std::vector<std::string> claimed_layers(const AttackInfo& attack, const AttackedDriver& driver);
// What got through where the driver claims nothing against it is not covered, rather than broken
// into.
void settle_claim(AttackRow& row, const AttackedDriver& driver);

// Nothing was reached, and everything that was run told its outcome.
bool holds(const std::vector<AttackRow>& rows);
std::string format_card(const std::vector<AttackRow>& rows, const AttackedDriver& driver);
std::string card_to_json(const std::vector<AttackRow>& rows, const AttackedDriver& driver);

}  // namespace atl::cli
