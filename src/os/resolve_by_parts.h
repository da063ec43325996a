// What openat2 does, for kernels that do not have it: a path is walked part by part, and every link
// in it is read and walked by us.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

enum class Bounds : int {
  beneath,   // what leads out of the directory is EXDEV, an absolute path or link too
  no_links,  // the same, and any link in it is ELOOP
  root,      // the directory is the root: absolute links begin there, and ".." stays there
};

// Meanwhile others may move what is being walked through: each part is opened before it is looked
// at, and ".." goes back to what was opened, so that nothing outside of `directory` is reached.
// Links of /proc that are more than a text are ELOOP.
Result<Fd> resolve_by_parts(int directory, const std::string& path, int flags, mode_t mode,
                            Bounds bounds);

}  // namespace atl::os
