// Runs while the agent is built and prints the source behind ready_filter.h.
#include <cstdio>

#include "native/seccomp.h"

namespace {

constexpr const char* kBegin = R"(#include "agent/ready_filter.h"
namespace atl::agent {
namespace {
)";

constexpr const char* kEnd = R"(}  // namespace
std::span<const sock_filter> ready_filter(native::SandboxFilterOptions options) {
  if (options.allow_ptrace && options.allow_clone3) return kFilter11;
  if (options.allow_ptrace) return kFilter10;
  if (options.allow_clone3) return kFilter01;
  return kFilter00;
}
}  // namespace atl::agent
)";

void print(bool ptrace, bool clone3) {
  std::printf("constexpr sock_filter kFilter%d%d[] = {\n", ptrace ? 1 : 0, clone3 ? 1 : 0);
  for (const auto& one :
       atl::native::sandbox_filter({.allow_ptrace = ptrace, .allow_clone3 = clone3})) {
    std::printf("    {%u, %u, %u, %uU},\n", one.code, one.jt, one.jf, one.k);
  }
  std::printf("};\n");
}

}  // namespace

int main() {
  std::printf("%s", kBegin);
  for (const bool ptrace : {false, true}) {
    for (const bool clone3 : {false, true}) print(ptrace, clone3);
  }
  std::printf("%s", kEnd);
  return 0;
}
