// A file of quotas, as operators write it for `atoll serve --quotas`:
//
//   default: {sandboxes: 100, memory: 64g, creates_per_s: 5, at_once: 20}
//   tenants:
//     search: {sandboxes: 500}        # the rest is as in default
//     nightly: {memory: none}         # no limit, whatever default says
//     bank: {min_isolation: vm, placement: host}  # less isolated or farther away is nothing of it
//   host: {memory: 200g, cpus: 60}    # all tenants together
//   assumed: {memory: 512m}           # what a sandbox counts that names no limit
//
// What it does not say is as `quotas` had it. Errors are Code::invalid_argument with file and line.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/quota.h"

namespace atl::policy {

inline constexpr size_t kLargestQuotaFile = size_t{4} << 20;
inline constexpr size_t kMostQuotas = 10'000;

Result<Quotas> read_quotas(std::string_view text, std::string_view file_name, Quotas quotas);
// Plain files only, so that no pipe can hold us up.
Result<Quotas> read_quota_file(const std::string& path, Quotas quotas);

}  // namespace atl::policy
