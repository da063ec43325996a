// A copy of a tree of files, from one descriptor to another; no link is followed on either side.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"

namespace atl::os {

struct CopyLimits {
  uint64_t files = 200'000;
  uint64_t bytes = uint64_t{4} << 30;
  std::chrono::seconds time{8};
};

struct CopiedTree {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t left_out = 0;  // could not be read, or is a device, a pipe or a socket
};

// Everything below `from` into the directory `to`, which is empty and nobody else's. Names of one
// file stay names of one file; blocks are shared where the file system can. What is copied belongs
// to us, without set-user-id bits. More than the limits, or longer, is Code::too_large.
Result<CopiedTree> copy_tree(int from, int to, CopyLimits limits);

}  // namespace atl::os
