#include "container/engine_capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::container {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const KernelVerdict kSameKernel;
const KernelVerdict kGvisor{Isolation::sentry, "", "6.1.0 #1", false};
const KernelVerdict kMachine{Isolation::vm, "", "6.1.0 #1", false};
const KernelVerdict kUntried{Isolation::container, "it could not be tried: …", "", true};

Capabilities of_own_runtime(const KernelVerdict& own) {
  auto can = engine_capabilities(kDocker, {.shows_directories = true});
  limit_by_own_kernel(can, own);
  return can;
}

TEST(EngineCapabilities, AreLessWhereTheEnginesOwnRuntimeHasAnotherKernel) {
  const auto usual = of_own_runtime(kSameKernel);
  EXPECT_EQ(usual.limits.pids, Limit::enforced);
  EXPECT_TRUE(usual.host_dir_ro && usual.host_dir_rw && usual.host_dir_roots);

  const auto sentry = of_own_runtime(kGvisor);
  EXPECT_EQ(sentry.limits.pids, Limit::none);
  EXPECT_EQ(sentry.limits.memory, Limit::enforced);
  EXPECT_FALSE(sentry.host_dir_ro || sentry.host_dir_rw || sentry.host_dir_roots);

  // What is in a machine, or may be, has its limits, and cannot be looked at.
  for (const auto& own : {kMachine, kUntried}) {
    const auto can = of_own_runtime(own);
    EXPECT_EQ(can.limits.pids, Limit::enforced);
    EXPECT_FALSE(can.host_dir_ro || can.host_dir_rw || can.host_dir_roots);
  }
}

TEST(EngineCapabilities, SayWhatHoldsWithoutTheEnginesFilter) {
  const auto says = Contains(HasSubstr("the engine tells of no seccomp filter"));
  EXPECT_THAT(engine_capabilities(kDocker, {.filters_calls = false}).not_protected, says);
  EXPECT_THAT(engine_capabilities(kPodman, {.filters_calls = true}).not_protected, Not(says));
  // Nobody has asked.
  EXPECT_THAT(engine_capabilities(kDocker, {}).not_protected, Not(says));
}

TEST(EngineCapabilities, OfAnEngineElsewhereShowNothingOfThisHost) {
  const auto can = engine_capabilities(kDocker, {.is_remote = true, .shows_directories = true});
  EXPECT_EQ(can.placement, Placement::own);
  EXPECT_FALSE(can.host_dir_ro || can.host_dir_rw || can.host_dir_roots || can.engine_socket);
}

}  // namespace
}  // namespace atl::container
