// Flags of `atoll serve` about how much may be asked of the daemon: quotas, the queue, and a policy
// server.
#pragma once

#include <span>

#include "cli/args.h"
#include "cli/program.h"

namespace atl::cli {

extern const std::span<const Flag> kAdmissionFlags;

// Usage errors name the flag; a file of quotas that makes no sense, file and line.
Result<> read_admission(const Args& args, ServeOptions& options);

// A whole number; what stands in `number` stays where the flag is absent.
Result<> read_number(const Args& args, std::string_view flag, size_t least, size_t most,
                     size_t& number);

}  // namespace atl::cli
