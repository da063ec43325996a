// seccomp: which system calls a process and all its descendants may make.
//
// The filter is plain BPF, written here without a library so that it can be built in the static
// agent and read in one sitting. This one is a denylist, for the `subprocess` driver: it takes away
// what a program that computes does not need and an attacker does (other namespaces, tracing,
// modules, bpf, keyrings, sockets, typing into a terminal). Foreign architectures (i386, x32) are
// killed, because their numbers would walk past the list.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace atl::native {

std::vector<sock_filter> subprocess_filter();

}  // namespace atl::native
