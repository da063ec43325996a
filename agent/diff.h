// What a sandbox changed in its copies of host directories.
//
// The kernel keeps a copy as two directories: `lower` is the host's, `upper` holds what was
// written. What is in `upper` is new or changed; a character device 0:0 there stands for what was
// removed. A directory that was removed and made again hides its `lower`, which only an attribute
// tells that the agent may not read; so what `lower` has and the sandbox does not see is removed,
// too.
//
// Everything here is the guest's to choose, at any moment: names are opened one by one without
// following links, and depth and number have limits.
#pragma once

#include <string>
#include <vector>

#include "agent/files.h"
#include "base/fd.h"
#include "base/result.h"
#include "guest/protocol.h"

namespace atl::agent {

// A directory of the host that is copied on write: what was changed, and what was there.
struct CopiedDirectory {
  std::string path;
  Fd upper, lower;
};

// A page of the changes, sorted by path, from `request.skip` on. Code::unsupported when nothing is
// copied, Code::not_found when nothing of `request.path` is, Code::too_large beyond
// guest::kMostChanges.
Result<guest::DiffPage> diff(const std::vector<CopiedDirectory>& copies, const FileRoots& roots,
                             const std::string& workspace, const guest::Diff& request);

}  // namespace atl::agent
