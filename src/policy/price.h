// Price: what a driver's sandboxes cost an hour, in US dollars.
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/quota.h"

namespace atl::policy {

inline constexpr double kMostPrice = 1e9;

struct Price {
  double sandbox = 0;  // whatever its size
  double cpu = 0;      // for each processor
  double gib = 0;      // for each GiB of memory

  // Of a sandbox of this size.
  double of(const Amounts& size) const;
  bool operator==(const Price&) const = default;
};

// A sum, each part of it once: "0.05", "0.05/cpu+0.02/gib", "0.01+0.05/cpu+0.02/gib". Parts are
// decimal numbers from 0 to kMostPrice; Code::invalid_argument for anything else.
Result<Price> parse_price(std::string_view text);

}  // namespace atl::policy
