#include "core/route_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RoutePlanTest : public ::testing::Test {
 protected:
  RoutePlanTest() {
    world_.add("native", Isolation::container);
    world_.add("gvisor", Isolation::sentry);
    world_.add("docker", Isolation::container).down();
    world_.add("local", Isolation::none);
    for (size_t i = 0; i < 4; ++i) world_.host(i).capabilities.network = NetworkControl::deny;
  }
  Result<RoutePlan> plan(CreateRequest request, std::string as = "", Caller caller = {}) {
    return world_.run(world_.engine().plan(caller, std::move(request), std::move(as)));
  }
  static std::vector<std::string> verdicts(const RoutePlan& plan) {
    std::vector<std::string> found;
    for (const auto& one : plan.drivers) {
      found.push_back(one.driver + ":" + std::string(json::name_of(one.verdict)));
    }
    return found;
  }

  EngineWorld world_;
};

TEST_F(RoutePlanTest, GivesAReasonForEveryDriverAndMakesNothing) {
  world_.start();

  const auto told = plan({});

  ASSERT_TRUE(told);
  EXPECT_TRUE(told->served);
  EXPECT_EQ(told->driver, "native");
  EXPECT_EQ(told->isolation, Isolation::container);
  EXPECT_EQ(told->profile, "none");
  EXPECT_THAT(verdicts(*told),
              ElementsAre("native:chosen", "gvisor:fallback", "docker:refused", "local:refused"));
  EXPECT_THAT(told->drivers[0].reason, HasSubstr("lacks nothing"));
  EXPECT_THAT(told->drivers[2].reason, HasSubstr("docker does not answer"));
  EXPECT_THAT(told->drivers[3].reason, HasSubstr("used only when it is named"));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RoutePlanTest, WhoHasNoSuchRuntimeHasNoIsolationWithIt) {
  world_.start();
  CreateRequest request;
  request.runtime = "runsc";

  const auto told = plan(std::move(request));

  ASSERT_TRUE(told);
  EXPECT_EQ(told->drivers[0].reason, "native has no runtime runsc");
  EXPECT_EQ(told->drivers[0].isolation, std::nullopt);
}

TEST_F(RoutePlanTest, TheRouteIsTheOneThatCreateTakes) {
  world_.start();
  CreateRequest request;
  request.profile = "team";
  request.min_isolation = Isolation::sentry;

  const auto told = plan({.profile = "team", .min_isolation = Isolation::sentry});

  EXPECT_EQ(told->profile, "team@1");
  EXPECT_EQ(told->min_isolation, Isolation::sentry);
  EXPECT_EQ(told->driver, world_.create(std::move(request))->driver);
}

TEST_F(RoutePlanTest, WhatNobodyCanServeIsSaidWithEveryReason) {
  world_.start();

  const auto told = plan({.profile = "untrusted"});

  ASSERT_TRUE(told);
  EXPECT_FALSE(told->served);
  EXPECT_EQ(told->driver, std::nullopt);
  EXPECT_THAT(told->problem, HasSubstr("no driver can serve"));
  EXPECT_THAT(told->drivers[1].reason, HasSubstr("gvisor offers sentry, vm was asked"));
}

TEST_F(RoutePlanTest, AProfilesClosedListIsTold) {
  const std::vector<policy::ProfileText> texts{
      {"t.yaml", "profiles:\n  p: {drivers: [gvisor, moon], fallback: []}\n"}};
  world_.options.profiles = policy::Profiles::load(texts).value();
  world_.start();

  const auto told = plan({.profile = "p"});

  EXPECT_EQ(told->driver, "gvisor");
  EXPECT_THAT(verdicts(*told), ElementsAre("gvisor:chosen", "native:refused", "docker:refused",
                                           "local:refused", "moon:refused"));
  EXPECT_THAT(told->drivers[1].reason, HasSubstr("not among the drivers of the profile"));
  EXPECT_THAT(told->drivers[4].reason, HasSubstr("not configured"));
}

TEST_F(RoutePlanTest, ANamedDriverIsTheOnlyOne) {
  world_.start();

  const auto told = plan({.driver = "gvisor"});

  EXPECT_THAT(verdicts(*told),
              ElementsAre("gvisor:chosen", "native:refused", "docker:refused", "local:refused"));
  EXPECT_THAT(told->drivers[1].reason, HasSubstr("gvisor is named"));
  EXPECT_EQ(plan({.driver = "moon"}).error().code(), Code::not_found);
}

TEST_F(RoutePlanTest, AnotherDriverIsComparedWithTheChosenOne) {
  world_.host(0).capabilities.pty = true;
  world_.host(1).capabilities.pty = false;
  world_.start();

  const auto told = plan({}, "gvisor");

  ASSERT_TRUE(told->changes);
  EXPECT_THAT(*told->changes,
              ::testing::Contains(::testing::AllOf(::testing::Field(&PlanChange::what, "isolation"),
                                                   ::testing::Field(&PlanChange::from, "container"),
                                                   ::testing::Field(&PlanChange::to, "sentry"))));
  EXPECT_THAT(*told->changes, ::testing::Contains(::testing::Field(&PlanChange::what, "pty")));
  EXPECT_THAT(plan({}, "docker")->changes->front().to, HasSubstr("docker does not answer"));
  EXPECT_EQ(plan({}, "moon").error().code(), Code::not_found);
}

TEST_F(RoutePlanTest, SaysWhatMembersMayNotHave) {
  world_.options.members_floor = Isolation::sentry;
  world_.start();
  Caller member;
  member.role = Role::member;

  const auto told = plan({}, "", member);

  EXPECT_EQ(told->driver, "gvisor");
  EXPECT_EQ(told->min_isolation, Isolation::sentry);
  // Those that would be asked come first.
  EXPECT_THAT(verdicts(*told), ::testing::Contains("native:refused"));
  EXPECT_THAT(told->drivers[1].driver, "native");
  EXPECT_THAT(told->drivers[1].reason, HasSubstr("only administrators"));
}

}  // namespace
}  // namespace atl
