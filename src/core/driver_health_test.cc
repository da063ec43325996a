#include "core/driver_health.h"

#include <gmock/gmock.h>

#include "core/engine_world_internal.h"
#include "core/event_log.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DriverHealth, TheFirstAnswerDecidesAtOnce) {
  DriverHealth good;
  DriverHealth bad;
  EXPECT_EQ(good.state(), DriverCondition::unknown);

  good.answered();
  bad.failed();

  EXPECT_EQ(good.state(), DriverCondition::healthy);
  EXPECT_EQ(bad.state(), DriverCondition::down);
}

TEST(DriverHealth, OneLostAnswerMovesNothingAndThreeDo) {
  DriverHealth health({.failures = 3, .answers = 2});
  health.answered();

  health.failed();
  health.failed();
  EXPECT_EQ(health.state(), DriverCondition::failing);
  EXPECT_TRUE(health.is_trusted());
  health.answered();
  EXPECT_EQ(health.state(), DriverCondition::healthy);
  for (int i = 0; i < 3; ++i) health.failed();

  EXPECT_EQ(health.state(), DriverCondition::down);
  EXPECT_FALSE(health.is_trusted());
}

TEST(DriverHealth, OneLuckyAnswerIsNotEnough) {
  DriverHealth health({.failures = 3, .answers = 2});
  health.failed();

  health.answered();
  EXPECT_EQ(health.state(), DriverCondition::recovering);
  health.failed();
  EXPECT_EQ(health.state(), DriverCondition::down);
  health.answered();
  health.answered();

  EXPECT_EQ(health.state(), DriverCondition::healthy);
}

// With the engine around it.
class ProbingTest : public ::testing::Test {
 protected:
  ProbingTest() {
    world_.add("first");
    world_.add("second");
    world_.options.routing.health = {.failures = 3, .answers = 2};
    world_.start();
  }
  void probe() { ASSERT_TRUE(world_.run(world_.engine().probe_drivers())); }
  DriverView view() { return world_.engine().drivers()[0]; }
  std::string serves() { return world_.create().value().driver; }
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    for (const auto& event : world_.engine().events().after(0, 1'000).events) {
      if (event->is_of_driver()) lines.push_back(event->driver + " " + event->driver_change);
    }
    return lines;
  }

  EngineWorld world_;
};

TEST_F(ProbingTest, ADriverIsDownAfterThreeLostAnswersAndNotBefore) {
  world_.host(0).fail("probe", Error(Code::unavailable, "no answer"), 3);

  probe();
  probe();
  EXPECT_TRUE(view().available);
  EXPECT_EQ(view().health, DriverCondition::failing);
  EXPECT_EQ(view().last_failure, "no answer");
  EXPECT_EQ(serves(), "first");
  probe();

  EXPECT_FALSE(view().available);
  EXPECT_EQ(view().health, DriverCondition::down);
  EXPECT_EQ(serves(), "second");
  EXPECT_THAT(told(), ElementsAre("first down"));
  EXPECT_THAT(world_.metrics.render(), HasSubstr("atoll_driver_healthy{driver=\"first\"} 0"));
}

TEST_F(ProbingTest, OneThatAnswersAgainIsAskedLastUntilItHasAnsweredTwice) {
  world_.host(0).fail("probe", Error(Code::unavailable, "no answer"), 3);
  for (int i = 0; i < 3; ++i) probe();

  probe();
  EXPECT_EQ(view().health, DriverCondition::recovering);
  EXPECT_TRUE(view().available);
  EXPECT_EQ(serves(), "second");
  EXPECT_EQ(world_.create({.driver = "first"})->driver, "first") << "by name it serves at once";
  probe();

  EXPECT_EQ(view().health, DriverCondition::healthy);
  EXPECT_EQ(serves(), "first");
  EXPECT_THAT(told(), ElementsAre("first down", "first healthy"));
  EXPECT_THAT(world_.metrics.render(), HasSubstr("atoll_driver_healthy{driver=\"first\"} 1"));
}

TEST_F(ProbingTest, AFlappingDriverIsNoNews) {
  for (int i = 0; i < 10; ++i) {
    world_.host(0).fail("probe", Error(Code::unavailable, "no answer"), 1);
    probe();
    probe();
  }

  EXPECT_EQ(view().health, DriverCondition::healthy);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ProbingTest, OneThatHangsHoldsNobodyUp) {
  world_.host(0).hold("probe");
  const auto round = world_.begin(world_.engine().probe_drivers());
  EXPECT_FALSE(round.done());
  EXPECT_EQ(world_.host(1).count("probe"), 2U) << "the other one was asked meanwhile";

  // While its answer is out it is not asked again.
  const auto next = world_.begin(world_.engine().probe_drivers());
  EXPECT_TRUE(next.done());
  EXPECT_EQ(world_.host(0).count("probe"), 2U);
  world_.host(0).release("probe");
  world_.settle();

  EXPECT_TRUE(round.done());
  EXPECT_EQ(view().health, DriverCondition::healthy);
}

TEST_F(ProbingTest, SomebodyElsesServerThatWasNotAskedIsLeftAlone) {
  EngineWorld world;
  world.add("native");
  world.add("docker").is_somebody_elses = true;
  world.options.asking = Asking::when_needed;
  world.start();

  ASSERT_TRUE(world.run(world.engine().probe_drivers()));

  EXPECT_EQ(world.host(1).count("probe"), 0U);
  EXPECT_EQ(world.engine().drivers()[1].health, DriverCondition::unknown);
}

}  // namespace
}  // namespace atl
