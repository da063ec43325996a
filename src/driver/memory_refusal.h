// How a driver says, among what it does not protect, why snapshots hold no memory: who asks for one
// is told the rest of the sentence.
#pragma once

#include <string_view>

namespace atl {

constexpr std::string_view kMemoryNotKept = "memory of processes is not kept: ";

}  // namespace atl
