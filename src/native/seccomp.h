// seccomp: which system calls a process and all its descendants may make.
//
// The filters are plain BPF, written here without a library so that they can be built in the static
// agent and read in one sitting. Foreign architectures (i386, x32) are killed, because their
// numbers would walk past the list. A filter can only be made stricter by its process, also with
// ptrace, which sees a call before the filter does (since Linux 4.8).
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace atl::native {

// A denylist for the `subprocess` driver: it takes away what a program that computes does not need
// and an attacker does (other namespaces, tracing, modules, bpf, keyrings, sockets, typing into a
// terminal).
std::vector<sock_filter> subprocess_filter();

struct SandboxFilterOptions {
  // Debuggers work inside the sandbox: ptrace, process_vm_readv and _writev, PR_SET_PTRACER, and
  // programs without address randomisation.
  bool allow_ptrace = false;
  // For the agent where control groups are of version 2: it starts each command in its group. The
  // command is denied the call by no_clone3_filter().
  bool allow_clone3 = false;
};

// An allowlist for a sandbox with namespaces of its own. It is applied once, to the agent before it
// is executed, and inherited by everything in the sandbox, so it allows what the agent does too.
// What is allowed is in syscall_list.cc, which arguments in call_checks.cc. All other calls fail
// with EPERM; those that are younger than the list fail with ENOSYS, so that programs fall back to
// older ones, as do clone3 and io_uring.
std::vector<sock_filter> sandbox_filter(SandboxFilterOptions options);

// Takes clone3 from those whose agent may call it, as if the kernel did not have it.
std::vector<sock_filter> no_clone3_filter();

// What sandbox_filter() amounts to, for people: how many calls it allows, how many by their
// arguments, how many instructions it has.
struct FilterSummary {
  size_t allowed = 0;
  size_t by_arguments = 0;
  size_t instructions = 0;
};
FilterSummary summarize_filter(SandboxFilterOptions options);
std::string describe_filter(SandboxFilterOptions options);

}  // namespace atl::native
