#include "agent/ready_filter.h"

#include <gtest/gtest.h>

namespace atl::agent {
namespace {

TEST(ReadyFilter, IsWhatWouldBeComputed) {
  for (const bool ptrace : {false, true}) {
    for (const bool clone3 : {false, true}) {
      const native::SandboxFilterOptions options{.allow_ptrace = ptrace, .allow_clone3 = clone3};
      const auto ready = ready_filter(options);
      const auto computed = native::sandbox_filter(options);
      ASSERT_EQ(ready.size(), computed.size());
      for (size_t i = 0; i < ready.size(); ++i) {
        EXPECT_EQ(ready[i].code, computed[i].code) << i;
        EXPECT_EQ(ready[i].jt, computed[i].jt) << i;
        EXPECT_EQ(ready[i].jf, computed[i].jf) << i;
        EXPECT_EQ(ready[i].k, computed[i].k) << i;
      }
    }
  }
}

}  // namespace
}  // namespace atl::agent
