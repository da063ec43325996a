// A file or a directory with everything below it, as a tar archive.
//
// Links go as links, and only if they stay inside: an archive of ours is one that TarReader takes.
#pragma once

#include <functional>

#include "base/tar.h"
#include "os/tree_walk.h"

namespace atl::os {

struct Packed {
  uint64_t entries = 0;
  uint64_t bytes = 0;    // of the files
  uint64_t skipped = 0;  // special files, links that lead outside, what cannot be read
};

struct PackLimits {
  uint64_t bytes = uint64_t{64} << 30;
  WalkLimits walk = {};
  TarLinks links = TarLinks::inside;  // others are left out
  bool owners = false;                // told, too; otherwise everything is root's
};

// `on_skipped` is told what is left out and why.
using OnSkipped = std::function<void(const std::string& path, std::string_view why)>;

// `start` as in walk_tree. Of a directory the entries are named relative to it, of a file `name` is
// its name. A file that becomes shorter meanwhile is Code::conflict, since its size is told before.
Result<Packed> pack_tree(int start, const std::string& name, PackLimits limits,
                         const std::function<Result<>(std::string_view)>& write,
                         const OnSkipped& on_skipped);

}  // namespace atl::os
