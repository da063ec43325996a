#include "core/pool_demand.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

using std::chrono::seconds;

constexpr policy::PoolSettings kSettings{
    .min = 1, .target = 2, .max = 6, .idle_s = 60, .max_age_s = 3600};

TEST(PoolDemand, ANewPoolIsFilledToItsTarget) {
  PoolDemand demand(kSettings, Micros(0));
  EXPECT_EQ(demand.level(Micros(0)), 2U);
}

TEST(PoolDemand, WhatIsAskedForWithinTenSecondsIsKeptReady) {
  PoolDemand demand(kSettings, Micros(0));
  for (int i = 0; i < 4; ++i) demand.note_request(seconds(i));
  EXPECT_EQ(demand.level(seconds(4)), 4U);
}

TEST(PoolDemand, NoDemandGoesBeyondMax) {
  PoolDemand demand(kSettings, Micros(0));
  for (int i = 0; i < 1000; ++i) demand.note_request(Micros(i));
  EXPECT_EQ(demand.level(Micros(1000)), 6U);
}

TEST(PoolDemand, TheLevelFallsOnlyWhenItWasNotNeededForTheIdleTime) {
  PoolDemand demand(kSettings, Micros(0));
  for (int i = 0; i < 5; ++i) demand.note_request(Micros(i));
  // One now and then keeps the pool in use, and the high level is not needed any more.
  demand.note_request(seconds(30));
  EXPECT_EQ(demand.level(seconds(59)), 5U);
  EXPECT_EQ(demand.level(seconds(61)), 2U);
}

TEST(PoolDemand, AQuietPoolFallsToMin) {
  PoolDemand demand(kSettings, Micros(0));
  EXPECT_EQ(demand.level(seconds(59)), 2U);
  EXPECT_EQ(demand.level(seconds(60)), 1U);
  demand.note_request(seconds(200));
  EXPECT_EQ(demand.level(seconds(200)), 2U) << "in use again";
}

TEST(PoolDemand, AChangeHoldsAtOnce) {
  PoolDemand demand(kSettings, Micros(0));
  demand.change({.min = 0, .target = 5, .max = 5, .idle_s = 60, .max_age_s = 60}, seconds(1));
  EXPECT_EQ(demand.level(seconds(1)), 5U);
  demand.change({.min = 0, .target = 0, .max = 5, .idle_s = 60, .max_age_s = 60}, seconds(2));
  EXPECT_EQ(demand.level(seconds(2)), 0U);
}

}  // namespace
}  // namespace atl
