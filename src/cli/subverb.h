// Subverb: what a verb of several does, by its first word: `atoll pool create NAME`.
#pragma once

#include <span>
#include <string_view>

#include "cli/verb.h"

namespace atl::cli {

struct Subverb {
  std::string_view name;
  size_t least, most;  // words behind it
  Result<int> (*run)(Context& context);
};

// Does what the first word says. A word that is none of them, or too few or too many behind
// it, is an error of usage that names what there is. The verb's grammar has seen to a first word.
Result<int> run_subverb(Context& context, std::string_view verb, std::span<const Subverb> subverbs);

}  // namespace atl::cli
