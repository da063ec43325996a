// What a shell needs to complete our command line, made from the verbs' grammar.
#pragma once

#include <span>
#include <string>

#include "cli/verb.h"

namespace atl::cli {

// Scripts for a shell to load. Where a verb takes a sandbox they ask `atoll completion boxes`,
// which is silent when there is no daemon; drivers they have from `atoll drivers -q`.
std::string bash_script(std::span<const Verb* const> verbs);
std::string zsh_script(std::span<const Verb* const> verbs);
std::string fish_script(std::span<const Verb* const> verbs);

// Whether what follows the verb's flags names sandboxes.
bool takes_sandbox(const Verb& verb);

}  // namespace atl::cli
