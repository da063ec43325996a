#include "core/retry_budget.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace atl {
namespace {

int take_all(RetryBudget& budget) {
  int taken = 0;
  while (taken < 1'000 && budget.take()) ++taken;
  return taken;
}

TEST(RetryBudget, BeginsFullAndRunsOut) {
  FakeClock clock;
  RetryBudget budget(clock, {.most = 3, .per_request = 0, .per_second = 0});

  EXPECT_EQ(take_all(budget), 3);
  EXPECT_FALSE(budget.take());
}

TEST(RetryBudget, RequestsGiveAPartBack) {
  FakeClock clock;
  RetryBudget budget(clock, {.most = 3, .per_request = 0.25, .per_second = 0});
  take_all(budget);

  for (int i = 0; i < 3; ++i) budget.note_request();
  EXPECT_FALSE(budget.take());
  budget.note_request();

  EXPECT_TRUE(budget.take());
}

TEST(RetryBudget, SoDoesTimeAndNeverMoreThanTheMost) {
  FakeClock clock;
  RetryBudget budget(clock, {.most = 3, .per_request = 0, .per_second = 2});
  take_all(budget);

  clock.advance(std::chrono::milliseconds(500));
  EXPECT_EQ(take_all(budget), 1);
  clock.advance(std::chrono::hours(1));

  EXPECT_EQ(take_all(budget), 3);
}

}  // namespace
}  // namespace atl
