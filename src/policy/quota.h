// Quotas: how much a tenant, or all of them together, may have at a time.
//
// Processors are counted in thousandths, so that sums are exact however often something is added
// and taken away.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "driver/capabilities.h"
#include "driver/spec.h"

namespace atl::policy {

// What sandboxes take together.
struct Amounts {
  int64_t sandboxes = 0;
  int64_t milli_cpus = 0;
  int64_t memory_mb = 0;
  int64_t disk_mb = 0;

  Amounts& operator+=(const Amounts& other);
  Amounts& operator-=(const Amounts& other);
  bool operator==(const Amounts&) const = default;
};

Amounts operator+(Amounts left, const Amounts& right);
Amounts operator*(Amounts amounts, int64_t count);

// Nullopt is no limit.
struct Quota {
  std::optional<int64_t> sandboxes;
  std::optional<int64_t> milli_cpus;
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> disk_mb;
  std::optional<double> creates_per_s;  // twice as many, and at least one, at once after a pause
  std::optional<int64_t> at_once;       // creates, until it is made, and runs, until they are over
  // A tenant's floor: nothing of it is isolated less or farther away, whoever asks for it.
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;

  bool operator==(const Quota&) const = default;
};

struct Quotas {
  Quota usual;                           // of tenants that are not named
  std::map<std::string, Quota> tenants;  // whole: what one does not say is as usual
  Quota host;                            // of all tenants together
  // What a sandbox counts that names no limit: memory and disk are what Atoll's own drivers give it
  // then.
  Amounts assumed{.sandboxes = 1, .milli_cpus = 1'000, .memory_mb = 2'048, .disk_mb = 1'024};

  const Quota& of(const std::string& tenant) const;
};

// One sandbox with these limits.
Amounts amounts_of(const Resources& resources, const Amounts& assumed);

// A limit that would be exceeded.
struct Shortage {
  std::string_view limit;  // "sandboxes", "cpus", "memory_mb", "disk_mb"
  double most = 0;
  double used = 0;
  double asked = 0;

  // "3 of 4 processors"
  std::string held() const;
  // "has 3 of 4 processors and asks for 2 more"
  std::string words() const;
};

// The first limit that `more` beside `used` would exceed. What is not asked for is not looked at:
// who has too much already may still have more of something else.
std::optional<Shortage> find_shortage(const Quota& quota, const Amounts& used, const Amounts& more);

}  // namespace atl::policy
