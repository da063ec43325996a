#include "native/seccomp.h"

#include <asm/unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "native/call_checks.h"
#include "native/filter_tree.h"
#include "native/syscall_list.h"

namespace atl::native {
namespace {

// A call that the list marks `by_arguments` and that has no check here stays refused.
void set_checks(Decision& calls, Debugging debugging) {
  calls.set(__NR_clone, check_clone());
  calls.set(__NR_ioctl, check_ioctl());
  calls.set(__NR_socket, check_socket());
  calls.set(__NR_socketpair, check_socketpair());
  calls.set(__NR_prctl, check_prctl(debugging));
  calls.set(__NR_personality, check_personality(debugging));
}

Fragment answer_to(CallRule rule, Debugging debugging) {
  switch (rule) {
    case CallRule::allow:
      return allow();
    case CallRule::debug:
      return debugging == Debugging::allowed ? allow() : refuse(EPERM);
    case CallRule::absent:
      return refuse(ENOSYS);
    case CallRule::by_arguments:
    case CallRule::refuse:
      break;
  }
  return refuse(EPERM);
}

}  // namespace

std::vector<sock_filter> sandbox_filter(SandboxFilterOptions options) {
  const auto debugging = options.allow_ptrace ? Debugging::allowed : Debugging::refused;
  Decision calls(refuse(EPERM));
  for (const auto& group : system_call_groups()) {
    const Fragment fragment = answer_to(group.rule, debugging);
    for (const auto& call : group.calls) {
      if (call.number != kNoSuchCall) calls.set(call.number, fragment);
    }
  }
  set_checks(calls, debugging);
  if (options.allow_clone3) calls.set(__NR_clone3, allow());
  calls.set_range(newest_known_call() + 1, UINT32_MAX, refuse(ENOSYS));
  return filter_of(std::move(calls));
}

std::vector<sock_filter> no_clone3_filter() {
  Decision calls(allow());
  calls.set(__NR_clone3, refuse(ENOSYS));
  return filter_of(std::move(calls));
}

}  // namespace atl::native
