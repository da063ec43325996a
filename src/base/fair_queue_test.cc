#include "base/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace atl {
namespace {

using testing::ElementsAre;

std::vector<FairQueue::Number> drain(FairQueue& queue) {
  std::vector<FairQueue::Number> order;
  while (const auto next = queue.front()) {
    order.push_back(*next);
    queue.pop();
  }
  return order;
}

TEST(FairQueue, TenantsTakeTurnsAndWithinOneTheFirstIsFirst) {
  FairQueue queue;
  const auto a1 = queue.push("a"), a2 = queue.push("a"), a3 = queue.push("a");
  const auto b1 = queue.push("b"), c1 = queue.push("c"), b2 = queue.push("b");

  EXPECT_THAT(drain(queue), ElementsAre(a1, b1, c1, a2, b2, a3));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(FairQueue, ANewcomerWaitsForOneOfEachTenantAtMost) {
  FairQueue queue;
  for (int i = 0; i < 1'000; ++i) queue.push("greedy");
  const auto modest = queue.push("modest");

  EXPECT_EQ(queue.position(modest), 2U);
  queue.pop();
  EXPECT_EQ(queue.front(), modest);
}

TEST(FairQueue, WhoeverLeavesFreesItsPlace) {
  FairQueue queue;
  const auto first = queue.push("a"), second = queue.push("a");

  EXPECT_TRUE(queue.remove(first));
  EXPECT_FALSE(queue.remove(first));

  EXPECT_EQ(queue.position(second), 1U);
  EXPECT_THAT(drain(queue), ElementsAre(second));
}

TEST(FairQueue, NobodyWaitsForATenantThatIsHeld) {
  FairQueue queue;
  const auto a = queue.push("a"), b = queue.push("b");
  queue.hold("a");

  EXPECT_THAT(drain(queue), ElementsAre(b));
  EXPECT_EQ(queue.size(), 1U);
  queue.let("a");
  EXPECT_THAT(drain(queue), ElementsAre(a));
}

TEST(FairQueue, ATenantCanBeHeldBeforeItWaits) {
  FairQueue queue;
  queue.hold("a");
  queue.push("a");

  EXPECT_FALSE(queue.front());
  EXPECT_EQ(queue.size_of("a"), 1U);
}

TEST(FairQueue, ThePositionIsTheOrderInWhichTheyAreServed) {
  FairQueue queue;
  std::vector<FairQueue::Number> numbers;
  for (const char* tenant : {"a", "a", "b", "a", "c", "b", "a", "d", "c", "c", "c"})
    numbers.push_back(queue.push(tenant));
  queue.pop();  // so that the ring has turned

  std::map<FairQueue::Number, size_t> told;
  for (const auto number : numbers) told[number] = queue.position(number);

  const auto order = drain(queue);
  ASSERT_EQ(order.size(), numbers.size() - 1);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(told[order[i]], i + 1);
  EXPECT_EQ(told[numbers[0]], 0U) << "it does not wait any more";
}

TEST(FairQueue, TheLongestLineIsToldWithItsLast) {
  FairQueue queue;
  queue.push("a");
  queue.push("b");
  const auto last = queue.push("b");

  EXPECT_EQ(queue.longest().size, 2U);
  EXPECT_EQ(queue.longest().last, last);
}

// Half of all requests are one tenant's, and they come tenant by tenant, which is the worst for a
// queue that only looks at the clock.
TEST(FairQueue, TenThousandRequestsOfFiftyTenantsAreServedFairly) {
  FairQueue queue;
  std::map<FairQueue::Number, int> whose;
  for (int tenant = 0; tenant < 50; ++tenant) {
    const int count = tenant == 0 ? 5'100 : 100;
    for (int i = 0; i < count; ++i) whose[queue.push("tenant" + std::to_string(tenant))] = tenant;
  }
  ASSERT_EQ(queue.size(), 10'000U);

  std::vector<int> served(50);
  for (int i = 1; i <= 5'000; ++i) {
    ++served[static_cast<size_t>(whose.at(*queue.front()))];
    queue.pop();
    if (i % 500 != 0) continue;
    const auto [least, most] = std::ranges::minmax(served);
    EXPECT_LE(most, 1.2 * least) << "after " << i;
  }
  EXPECT_EQ(queue.size(), 5'000U);
}

}  // namespace
}  // namespace atl
