// What seccomp looks at in the arguments of a system call. Each check answers on every path; which
// calls get one is up to the filter.
#pragma once

#include "native/filter_tree.h"

namespace atl::native {

// No new namespaces (EPERM). clone3 must be kept out beside it: its flags are behind a pointer.
Fragment check_clone();

// No typing into a terminal's input (TIOCSTI, TIOCLINUX), no taking the console's output (TIOCCONS)
// and no line disciplines, each of which is a kernel module that exploits know (TIOCSETD): EPERM.
// Of btrfs nothing but cloning and deduplicating (ENOTTY): a subvolume that code makes inside its
// own is in nobody's quota.
Fragment check_ioctl();

// AF_UNIX, TCP and UDP over IP with the ping sockets beside them, and the part of netlink that
// lists interfaces and routes. No raw packets (EPERM), and none of the many protocols that almost
// nobody uses and whose modules the kernel would load on demand (EAFNOSUPPORT, ESOCKTNOSUPPORT,
// EPROTONOSUPPORT, as from a kernel that was built without them).
Fragment check_socket();
Fragment check_socketpair();

enum class Debugging : uint8_t { refused, allowed };

// Options known to be harmless. EPERM for the known others, EINVAL for unknown ones, as from an
// older kernel.
Fragment check_prctl(Debugging debugging);

// Asking, and the ordinary one. Debuggers also switch off address randomisation for what they run.
Fragment check_personality(Debugging debugging);

}  // namespace atl::native
