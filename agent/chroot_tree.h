// The root of a sandbox that has no namespaces of its own: a copy of a tree of the host, with what
// programs expect in it.
//
// Where the kernel lets us, the agent gets a mount namespace for /dev and /proc, and without root a
// user namespace, because entering a root needs CAP_SYS_CHROOT. Otherwise devices are made, and
// there is no /proc. The rest of the host stays where it was for the agent; only its commands
// enter.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

struct ChrootTree {
  Fd root;       // to enter: the place, as the mount namespace sees it
  Fd terminals;  // /dev/pts; empty where there is none
};

// `place` is empty, and the sandbox's own.
Result<ChrootTree> make_chroot_tree(int tree, int place);

}  // namespace atl::agent
