// Everything below a directory, parents first and by name, in a tree that somebody else may change
// meanwhile.
//
// No link is followed and no path is looked up twice: every directory is opened from the one above
// it, so whoever swaps a directory for a link makes it be left out, never makes us leave the tree.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

struct WalkedFile {
  std::string path;    // below the start; "" = the start itself
  int directory = -1;  // that holds it; for the start, itself
  std::string name;    // in that directory; "" = the start itself
  size_t depth = 0;    // the start has 0
  struct stat info{};

  // The file itself, never what a link leads to; also not what has taken its place since, unless
  // that is of the same kind.
  Result<Fd> open(int flags) const;
  // Of a link.
  std::string link_target() const;
};

enum class WalkStep : uint8_t { go_on, leave_out, stop };

struct WalkLimits {
  size_t depth = 255;  // each level holds a descriptor
  uint64_t files = 1'000'000;
};

struct Walked {
  uint64_t seen = 0;
  uint64_t skipped = 0;  // could not be read, or lies too deep
  bool is_cut = false;   // there were more than the limit
};

// `start` is any descriptor of a directory or a file, also one that was opened with O_PATH. What
// the kernel makes up (/proc, /sys) is left out unless it is the start.
Result<Walked> walk_tree(int start, WalkLimits limits,
                         const std::function<Result<WalkStep>(const WalkedFile&)>& visit);

// "a" and "b" → "a/b"; an empty one leaves the other.
std::string join_path(std::string_view above, std::string_view below);

}  // namespace atl::os
