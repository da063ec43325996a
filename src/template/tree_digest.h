// The name of a tree's content: two trees with the same one are the same to whoever runs in them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace atl {

struct TreeDigest {
  std::string hex;     // SHA-256
  uint64_t files = 0;  // and directories and links
  uint64_t bytes = 0;
};

// Reads every byte of the tree, so that what cannot be read is noticed now. Paths, kinds, modes,
// contents, targets of links and the times of files count; the times of directories do not.
// `go_on` is asked now and then.
Result<TreeDigest> digest_tree(int tree, const std::function<Result<>()>& go_on);

}  // namespace atl
