#include "core/rate_limiter.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace atl {
namespace {

using std::chrono::seconds;

TEST(RateLimiter, GivesABurstAndThenTellsHowLongToWait) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 2, .burst = 3});

  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.take("a"));
  EXPECT_EQ(limiter.take("a"), Millis(500));
  clock.advance(Millis(500));
  EXPECT_FALSE(limiter.take("a"));
  EXPECT_TRUE(limiter.take("a"));
}

TEST(RateLimiter, APauseGivesNoMoreThanTheBurst) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 2, .burst = 3});

  ASSERT_FALSE(limiter.take("a"));
  clock.advance(seconds(3'600));

  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.take("a"));
  EXPECT_TRUE(limiter.take("a"));
}

TEST(RateLimiter, OneDoesNotPayForAnother) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 1, .burst = 1});

  EXPECT_FALSE(limiter.take("a"));
  EXPECT_TRUE(limiter.take("a"));
  EXPECT_FALSE(limiter.take("b"));
}

TEST(RateLimiter, ManyNamesNeedNoMoreRoomAndGetNoMoreThanOneBurst) {
  FakeClock clock;
  RateLimiter limiter(clock, {.per_second = 1, .burst = 2}, 10);

  int given = 0;
  for (int i = 0; i < 1'000; ++i) given += limiter.take(std::to_string(i)) ? 0 : 1;

  EXPECT_EQ(given, 12) << "ten buckets, and one burst that the others share";
  EXPECT_EQ(limiter.size(), 10U);
  clock.advance(seconds(10));
  EXPECT_FALSE(limiter.take("new"));
  EXPECT_EQ(limiter.size(), 1U) << "full buckets are forgotten";
}

TEST(RateLimiter, ZeroIsNoLimit) {
  FakeClock clock;
  RateLimiter limiter(clock, {});

  for (int i = 0; i < 1'000; ++i) ASSERT_FALSE(limiter.take("a"));
  EXPECT_EQ(limiter.size(), 0U);
}

}  // namespace
}  // namespace atl
