#include "core/start_estimate.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace atl {
namespace {

TEST(StartEstimate, KnowsNothingAtFirst) {
  FakeClock clock;
  const StartEstimate start(clock);

  EXPECT_FALSE(start.measured_ms());
  EXPECT_EQ(start.samples(), 0);
}

TEST(StartEstimate, WhatIsDeclaredCountsAsTheFirstSample) {
  FakeClock clock;
  StartEstimate declared(clock);
  StartEstimate undeclared(clock);

  declared.add(Millis(20), 10);
  undeclared.add(Millis(20), 0);

  EXPECT_DOUBLE_EQ(*declared.measured_ms(), 15);
  EXPECT_DOUBLE_EQ(*undeclared.measured_ms(), 20);
}

TEST(StartEstimate, FollowsAChangeAndOneOutlierMovesItLittle) {
  FakeClock clock;
  StartEstimate start(clock);
  for (int i = 0; i < 100; ++i) start.add(Millis(10), 10);

  start.add(std::chrono::hours(1), 10);
  EXPECT_LT(*start.measured_ms(), 60'000 / 16 + 10);
  for (int i = 0; i < 200; ++i) start.add(Millis(50), 10);

  EXPECT_NEAR(*start.measured_ms(), 50, 1);
  EXPECT_EQ(start.samples(), 16);
}

TEST(StartEstimate, WhatIsOldIsForgotten) {
  FakeClock clock;
  StartEstimate start(clock);
  start.add(Millis(900), 10);
  clock.advance(std::chrono::minutes(11));

  EXPECT_FALSE(start.measured_ms());
  start.add(Millis(10), 10);
  EXPECT_DOUBLE_EQ(*start.measured_ms(), 10);
}

}  // namespace
}  // namespace atl
