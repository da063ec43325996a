// User namespaces, made ahead and entered by descriptor.
//
// A namespace is only a table of ids until somebody enters it. One with a sandbox's own range is
// what its processes live in; one with a single pair is how a directory of the host changes its
// owner on the way in (an idmapped mount).
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

struct IdMapping {
  uint32_t inside = 0;
  uint32_t outside = 0;
  uint32_t count = 0;
};

// Needs CAP_SETUID and CAP_SETGID here. The kernel counts some things (inotify instances, message
// queues, namespaces) for whoever made the namespace too, so it is made by `owner`: a sandbox's own
// range, and never a user whose budget somebody else needs.
Result<Fd> make_user_namespace(const IdMapping& users, const IdMapping& groups, uid_t owner);

}  // namespace atl::native
