// Home directories in a root file system of the sandbox's own.
//
// A template is kept without owners (docs/templates.md), so a sandbox finds all of it to be root's.
// People who live there could write nothing into their own homes.
#pragma once

#include <cstdint>

namespace atl::agent {

// What each home takes at most: giving away copies what is given into the sandbox's own storage.
constexpr uint64_t kMostFilesOfHome = 1'000;
constexpr uint64_t kLargestFileOfHome = 64 * 1024;

// Gives what is root's in /home/NAME to the person NAME of /etc/passwd in `root`: to those with a
// number from 1000 on. Neither links nor mounts are followed. Called before any command runs; what
// cannot be given stays root's.
void give_homes(int root);

}  // namespace atl::agent
