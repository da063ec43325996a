// Whose programs run where: the agent's on an engine's machine, an image's on this one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::container {

// Where the kernel tells which programs of other machines it can have run by others.
constexpr std::string_view kEmulators = "/proc/sys/fs/binfmt_misc";

// Code::unsupported where our agent would not run: `theirs` is the architecture of `whose`, "" =
// nobody knows.
Result<> check_agent_runs(const std::string& theirs, const std::string& whose);
// The same for the programs of an image on this host; `emulators` as above.
Result<> check_programs_run(const std::string& theirs, const std::string& image,
                            const std::string& emulators = std::string(kEmulators));

}  // namespace atl::container
