#include "core/strategy_order.h"

#include <gmock/gmock.h>

#include "base/run_task.h"
#include "core/engine_world_internal.h"
#include "core/route_plan.h"
#include "core/router.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using policy::Strategy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StrategyTest : public ::testing::Test {
 protected:
  StrategyTest() {
    for (const char* name : {"a", "b", "c"}) world_.add(name);
  }
  FakeHost& host(size_t i) { return world_.host(i); }
  std::string serves(Strategy strategy) {
    CreateRequest request;
    request.strategy = strategy;
    auto made = world_.create(std::move(request));
    return made ? made->driver : made.error().message();
  }
  // Creating takes so long on this host from now on.
  void slow(size_t i, Micros time) {
    host(i).on_step = [this, time](std::string step) { return pass(std::move(step), time); };
  }
  Task<> pass(std::string step, Micros time) {
    if (step == "create before") world_.advance(time);
    co_return Result<>();
  }
  RoutePlan plan(CreateRequest request) {
    return world_.run(world_.engine().plan({}, std::move(request), "")).value();
  }

  EngineWorld world_;
};

TEST_F(StrategyTest, WithoutOneTheOrderIsThatOfTheConfiguration) {
  world_.start();

  EXPECT_EQ(world_.create()->driver, "a");
  EXPECT_EQ(serves(Strategy::priority), "a");
  EXPECT_EQ(plan({}).strategy, Strategy::priority);
}

TEST_F(StrategyTest, FastestBeginsWithWhatIsDeclaredAndGoesOnWithWhatIsMeasured) {
  host(0).capabilities.typical_start_ms = 100;
  host(1).capabilities.typical_start_ms = 10;
  world_.start();
  slow(0, Millis(100));
  slow(1, Millis(10));
  EXPECT_EQ(serves(Strategy::fastest), "b");

  slow(1, Millis(3'000));
  EXPECT_EQ(serves(Strategy::fastest), "b") << "one slow create is noticed when it is over";
  EXPECT_EQ(serves(Strategy::fastest), "a");
  EXPECT_EQ(world_.engine().drivers()[1].measured_starts, 2);

  const auto told = plan({.strategy = Strategy::fastest});
  EXPECT_EQ(told.strategy, Strategy::fastest);
  EXPECT_EQ(told.driver, "a");
  EXPECT_THAT(told.drivers[0].reason, HasSubstr("fastest: 100 ms to start, measured"));
  EXPECT_EQ(told.drivers[0].start_measured, true);
  EXPECT_EQ(told.drivers[2].driver, "c") << "nobody knows how fast it is";
  EXPECT_THAT(told.drivers[2].reason, HasSubstr("not known"));

  world_.advance(std::chrono::minutes(11));
  EXPECT_EQ(plan({.strategy = Strategy::fastest}).driver, "b") << "what is old is forgotten";
}

TEST_F(StrategyTest, CheapestKnowsThatThisHostCostsNothing) {
  for (size_t i = 0; i < 2; ++i) host(i).capabilities.placement = Placement::own;
  host(1).capabilities.price_per_hour = 0.05;
  world_.start();

  const auto told = plan({.strategy = Strategy::cheapest});

  EXPECT_EQ(told.driver, "c");
  EXPECT_THAT(told.drivers[0].reason, HasSubstr("cheapest: it costs nothing"));
  EXPECT_THAT(told.drivers[1].reason, HasSubstr("it costs $0.05 an hour"));
  EXPECT_THAT(told.drivers[2].reason, HasSubstr("its price is not known"));
  EXPECT_EQ(serves(Strategy::cheapest), "c");
}

TEST_F(StrategyTest, AConfiguredPriceIsThatOfTheSizeThatIsAsked) {
  host(0).capabilities.price_per_hour = 0.001;
  world_.options.routing.prices = {{"a", {.sandbox = 0.2}},
                                   {"b", {.sandbox = 0.01, .cpu = 0.1, .gib = 0.02}},
                                   {"c", {.cpu = 0.3}}};
  world_.start();

  const auto assumed = plan({.strategy = Strategy::cheapest});
  EXPECT_EQ(assumed.driver, "b") << "one processor and 2 GiB are assumed";
  EXPECT_DOUBLE_EQ(assumed.drivers[0].price_per_hour.value(), 0.15);
  EXPECT_THAT(assumed.drivers[0].reason, HasSubstr("cheapest: it costs $0.15 an hour"));
  EXPECT_DOUBLE_EQ(world_.engine().drivers()[1].price_per_hour.value(), 0.15);
  EXPECT_DOUBLE_EQ(world_.engine().drivers()[0].price_per_hour.value(), 0.2)
      << "the operator's word is before the driver's";

  const auto large =
      plan({.strategy = Strategy::cheapest, .resources = {.cpu = 4, .memory_mb = 1'024}});
  EXPECT_EQ(large.driver, "a");
  EXPECT_EQ(large.drivers[2].driver, "c");
  EXPECT_DOUBLE_EQ(large.drivers[1].price_per_hour.value(), 0.43);
  const auto small =
      plan({.strategy = Strategy::cheapest, .resources = {.cpu = 0.25, .memory_mb = 4'096}});
  EXPECT_EQ(small.driver, "c");
  EXPECT_THAT(small.drivers[0].reason, HasSubstr("it costs $0.075 an hour"));
}

TEST_F(StrategyTest, RoundRobinTakesTurnsAndAPlanTakesNone) {
  world_.start();
  std::string order;
  for (int i = 0; i < 7; ++i) {
    const auto told = plan({.strategy = Strategy::round_robin});
    const std::string driver = serves(Strategy::round_robin);
    EXPECT_EQ(told.driver, driver);
    order += driver;
  }

  EXPECT_EQ(order, "abcabca");
}

TEST_F(StrategyTest, RoundRobinPassesOverWhoeverDoesNotDo) {
  host(1).capabilities.isolation = Isolation::process;
  world_.start();
  std::string order;
  for (int i = 0; i < 4; ++i) {
    CreateRequest request;
    request.strategy = Strategy::round_robin;
    request.min_isolation = Isolation::container;
    order += world_.create(std::move(request))->driver;
  }

  EXPECT_EQ(order, "acac");
}

TEST_F(StrategyTest, WeightsArePartsAndZeroIsTheLast) {
  world_.options.routing.weights = {{"a", 3}, {"b", 1}, {"c", 0}};
  world_.start();
  std::map<std::string, int> count;
  std::string order;
  for (int i = 0; i < 40; ++i) {
    const std::string driver = serves(Strategy::weighted);
    ++count[driver];
    order += driver;
  }

  EXPECT_EQ(count["a"], 30);
  EXPECT_EQ(count["b"], 10);
  EXPECT_EQ(order.substr(0, 8), "aabaaaba") << "spread, not in blocks";
  const auto told = plan({.strategy = Strategy::weighted});
  EXPECT_EQ(told.drivers[2].driver, "c");
  EXPECT_THAT(told.drivers[2].reason, HasSubstr("weighted: its weight is 0"));
  EXPECT_EQ(told.drivers[0].weight, 3);
}

TEST_F(StrategyTest, TheDaemonsStrategyHoldsWhereARequestSaysNothing) {
  world_.options.routing.strategy = Strategy::round_robin;
  world_.start();

  EXPECT_EQ(world_.create()->driver, "a");
  EXPECT_EQ(world_.create()->driver, "b");
  EXPECT_EQ(serves(Strategy::priority), "a");
}

TEST_F(StrategyTest, WhatAProfileOnlyFallsBackToStaysBehind) {
  const std::vector<policy::ProfileText> texts{
      {"t.yaml",
       "profiles:\n  p: {drivers: [b, c], fallback: [a], strategy: fastest}\n"
       "  q: {inherits: p, strategy: cheapest}\n"}};
  world_.options.profiles = policy::Profiles::load(texts).value();
  host(0).capabilities.typical_start_ms = 1;
  host(1).capabilities.typical_start_ms = 20;
  host(2).capabilities.typical_start_ms = 10;
  world_.start();
  const auto names = [](const RoutePlan& told) {
    std::vector<std::string> found;
    for (const auto& one : told.drivers) found.push_back(one.driver);
    return found;
  };

  EXPECT_THAT(names(plan({.profile = "p"})), ElementsAre("c", "b", "a"));
  EXPECT_EQ(plan({.profile = "q"}).strategy, Strategy::cheapest);
  EXPECT_EQ(plan({.strategy = Strategy::priority, .profile = "p"}).driver, "b");
}

}  // namespace
}  // namespace atl
