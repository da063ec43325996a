// Taking a sandbox's changes home: into the host directories that it has copies of, as the user who
// asks.
//
// Paths, names and links are the guest's choice. Every path is opened beneath the host directory
// without following any link; files arrive under a temporary name and are renamed into place, with
// permission bits and nothing more; links are made as they are and never followed; devices, sockets
// and pipes are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/program.h"

namespace atl::cli {

enum class Conflicts : uint8_t { stop, overwrite };
enum class Doing : uint8_t { apply, rehearse };

struct Applied {
  Changes done;                        // or what would be
  std::vector<std::string> left_out;   // lines for people: what, and why
  std::vector<std::string> conflicts;  // host paths that changed after the sandbox was made
};

// With conflicts and Conflicts::stop nothing is changed.
Result<Applied> apply_changes(ChangeSource& source, const Changes& changes, Conflicts conflicts,
                              Doing doing);

}  // namespace atl::cli
