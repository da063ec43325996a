// What a filter amounts to, for people.
#include "native/seccomp.h"
#include "native/syscall_list.h"

namespace atl::native {

FilterSummary summarize_filter(SandboxFilterOptions options) {
  FilterSummary summary;
  for (const auto& group : system_call_groups()) {
    for (const auto& call : group.calls) {
      if (call.number == kNoSuchCall) continue;
      if (group.rule == CallRule::by_arguments) ++summary.by_arguments;
      if (group.rule == CallRule::allow) ++summary.allowed;
      if (group.rule == CallRule::debug && options.allow_ptrace) ++summary.allowed;
    }
  }
  summary.instructions = sandbox_filter(options).size();
  return summary;
}

std::string describe_filter(SandboxFilterOptions options) {
  const auto summary = summarize_filter(options);
  return std::to_string(summary.allowed) + " system calls allowed, " +
         std::to_string(summary.by_arguments) + " more by their arguments, all others refused (" +
         std::to_string(summary.instructions) + " instructions)";
}

}  // namespace atl::native
