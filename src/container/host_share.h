// HostShare: a directory of the host that a container is shown, and how it is made sure that it is
// the one that was meant.
//
// An engine takes a path and opens it with its own rights, which are not the caller's. So only what
// lies below a directory that the operator has named is handed over, by its real path and without a
// link on the way; and once the container runs, what it was shown is compared with the caller's own
// descriptor, before anybody gets the sandbox. Whoever swaps the path in between gets none.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/spec.h"

namespace atl::container {

struct HostShare {
  std::string source;  // real path on the host
  std::string target;  // in the container
  bool is_writable = false;
  uint64_t device = 0, inode = 0;  // of what the caller has opened
};

struct ShareRules {
  std::vector<std::string> roots;  // absolute; none = nothing is shared
  // Never shared, nor what it or another engine's lies in, by any name; "" = it may be had.
  std::string engine_socket;
  std::string socket_inside = {};  // where the container has one; "" = it has none
  std::string home = {};           // that is made for its user besides the usual one; "" = none
};

// "/srv/a:/srv/b" → two. Code::invalid_argument for what is not absolute.
Result<std::vector<std::string>> parse_share_roots(const std::string& text);

// The workspace and the mounts of a request. Code::permission_denied for what lies outside of the
// roots, Code::unsupported for copies, Code::invalid_argument for a place in the sandbox that
// others have: what is put there would be put into the host's directory.
Result<std::vector<HostShare>> make_shares(const SandboxSpec& spec, const ShareRules& rules);

// Code::unsupported if there are any: of a container whose kernel is another nobody can look at
// what it was shown.
Result<> refuse_unseen(const std::vector<HostShare>& shares);

// Whether the container of this process shows what was meant. Code::conflict when it does not.
Result<> check_shares(const std::vector<HostShare>& shares, pid_t first_process);

}  // namespace atl::container
