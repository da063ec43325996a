// Who is in a control group, and a signal that reaches them and nobody else.
//
// A list of pids is old the moment it is read: somebody on it may have ended, and a stranger may
// have been given the number.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace atl::os {

// In the group whose directory is open; without those that have no pid in our namespace. Sorted.
std::vector<pid_t> cgroup_members(int group);

// Signals everybody that `members` names, and tells whom. It is asked again once each of them is
// held by a pidfd, and only who is still named is signalled: that is either the one who is held,
// or somebody who got the number of one who is, and then the signal reaches nobody.
std::vector<pid_t> signal_members(const std::function<std::vector<pid_t>()>& members, int signal);

}  // namespace atl::os
