// /proc/cpuinfo of a sandbox: the host's processor, as often as the sandbox has one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace atl::native {

constexpr uint32_t kMostProcessors = 1024;

// The first entry of the host's /proc/cpuinfo; empty when it cannot be read. A processor does not
// change: read once per process.
const std::string& host_processor();

// `entry` for each processor, numbered anew, all in one socket. Flags are long: of more than 64
// processors only the first has them.
std::string cpuinfo_text(std::string_view entry, uint32_t processors);

}  // namespace atl::native
