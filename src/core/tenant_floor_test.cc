// A tenant's floor: whoever asks, and however, nothing of it goes below.
#include "core/tenant_floor.h"

#include <gmock/gmock.h>

#include "core/engine_world_internal.h"
#include "core/pool_view.h"
#include "core/route_plan.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TenantFloorTest : public ::testing::Test {
 protected:
  TenantFloorTest() : world_(EngineWorld::Keeps::file) {
    auto& weak = world_.add("docker", Isolation::container).capabilities;
    weak.fork = weak.snapshot = weak.reset = true;
    world_.add("strong", Isolation::vm);
    auto& far = world_.add("far", Isolation::vm).capabilities;
    far.placement = Placement::third_party;
    const std::vector<policy::ProfileText> texts{
        {"t.yaml", "profiles:\n  p: {min_isolation: none, drivers: [docker], fallback: []}\n"}};
    world_.options.profiles = policy::Profiles::load(texts).value();
    bank_.tenant = "bank";
    admin_.tenant = "bank";
    admin_.role = Role::admin;
  }
  void set_floor() {
    policy::Quota quota;
    quota.min_isolation = Isolation::vm;
    quota.placement = Placement::own;
    world_.options.admission.quotas.tenants["bank"] = quota;
  }
  Result<SandboxView> create(const Caller& caller, CreateRequest request = {}) {
    return world_.run(world_.engine().create(caller, std::move(request), {}));
  }
  void expect_refused(const Result<SandboxView>& made, std::string_view why) {
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message() + made.error().hint(), HasSubstr(std::string(why)));
    EXPECT_THAT(world_.host(0).ids(), IsEmpty());
    EXPECT_THAT(world_.host(2).ids(), IsEmpty());
  }

  EngineWorld world_;
  Caller bank_, admin_;
};

TEST_F(TenantFloorTest, TheRouterKeepsToIt) {
  set_floor();
  world_.start();

  EXPECT_EQ(create(bank_)->driver, "strong");
  EXPECT_EQ(create(admin_)->driver, "strong") << "an administrator's request for it, too";
  EXPECT_EQ(create({})->driver, "docker") << "of another tenant";
}

TEST_F(TenantFloorTest, NoRequestProfileRunModeOrRunGoesBelow) {
  set_floor();
  world_.start();
  for (const Caller& caller : {bank_, admin_}) {
    expect_refused(create(caller, {.driver = "docker"}), "this tenant has nothing below vm");
    EXPECT_EQ(create(caller, {.driver = "docker"}).error().code(), Code::permission_denied);
    expect_refused(create(caller, {.run_mode = "docker"}), "this tenant has nothing below vm");
    CreateRequest by_profile;
    by_profile.profile = "p";
    expect_refused(create(caller, std::move(by_profile)), "this tenant has nothing below vm");
    CreateRequest loose;
    loose.driver = "far";
    loose.placement = Placement::third_party;
    expect_refused(create(caller, std::move(loose)), "this tenant has nothing beyond own");
    const auto ran =
        world_.run(world_.engine().run(caller, {.driver = "docker"}, ExecRequest{.argv = {"echo"}},
                                       "", 1'000, std::make_shared<RunStop>()));
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code(), Code::permission_denied);
  }
}

TEST_F(TenantFloorTest, AFailureDoesNotLeadBelow) {
  set_floor();
  world_.host(1).fail("create", Error(Code::unavailable, "it broke"), 10);
  world_.start();

  expect_refused(create(bank_), "it broke");
}

TEST_F(TenantFloorTest, APoolsSandboxBelowItIsNotForIt) {
  set_floor();
  world_.options.pooling = Pooling::on;
  world_.start();
  PoolSpec spec;
  spec.driver = "docker";
  spec.size = {.target = 1};
  ASSERT_TRUE(world_.run(world_.engine().create_pool("p", std::move(spec))));
  world_.settle();
  ASSERT_EQ(world_.engine().get_pool("p")->ready, 1U);

  const auto taken = create(bank_);
  const auto by_name = create(bank_, {.driver = "docker"});

  EXPECT_EQ(taken->driver, "strong");
  ASSERT_FALSE(by_name);
  EXPECT_EQ(by_name.error().code(), Code::permission_denied);
  EXPECT_EQ(world_.engine().get_pool("p")->ready, 1U) << "it still waits";
}

TEST_F(TenantFloorTest, WhatIsThereFromBeforeIsNeitherStartedNorForkedNorResetNorMadeFrom) {
  world_.start();
  const auto old = create(bank_, {.driver = "docker"});
  ASSERT_TRUE(old);
  const auto kept = world_.run(world_.engine().snapshot(bank_, old->id, {}));
  ASSERT_TRUE(kept) << kept.error().message();
  const auto other = create(bank_, {.driver = "docker"});
  ASSERT_TRUE(other);
  set_floor();
  world_.restart();

  const auto stopped = world_.run(world_.engine().stop(bank_, other->id));
  ASSERT_TRUE(stopped) << stopped.error().message();
  const auto started = world_.run(world_.engine().start(admin_, other->id));
  const auto forked = world_.run(world_.engine().fork(admin_, old->id, 1, SnapshotKind::disk));
  const auto reset = world_.run(world_.engine().reset(bank_, old->id, {}));
  CreateRequest from;
  from.snapshot = kept->id;
  const auto restored = create(bank_, std::move(from));

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::permission_denied);
  ASSERT_FALSE(forked);
  EXPECT_EQ(forked.error().code(), Code::permission_denied);
  EXPECT_THAT(forked.error().message(), HasSubstr("it has isolation container"));
  ASSERT_FALSE(reset);
  EXPECT_EQ(reset.error().code(), Code::permission_denied);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), Code::permission_denied);
  EXPECT_EQ(world_.host(0).ids().size(), 2U) << "the old ones alone";
}

TEST_F(TenantFloorTest, NoSessionIsOpenedOnWhatCannotStartAgain) {
  world_.start();
  const SessionAsk ask{.scope = SessionScope::workspace, .key = "web"};
  CreateRequest request;
  request.driver = "docker";
  request.on_last = OnEnd::stop;
  const auto first = world_.run(world_.engine().open_session(bank_, ask, std::move(request)));
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(world_.run(world_.engine().close_session(bank_, first->id)));
  set_floor();
  world_.restart();

  const auto resting = world_.run(world_.engine().open_session(bank_, ask, {}));
  ASSERT_TRUE(world_.run(world_.engine().stop(bank_, first->sandbox)));
  const auto stopped = world_.run(world_.engine().open_session(bank_, ask, {}));
  const auto started = world_.run(world_.engine().start(bank_, first->sandbox));

  for (const auto* refused : {&resting, &stopped}) {
    ASSERT_FALSE(*refused);
    EXPECT_EQ(refused->error().code(), Code::permission_denied);
    EXPECT_EQ(refused->error().message(), started.error().message());
  }
  EXPECT_THAT(world_.engine().list_sessions(bank_), IsEmpty());
}

TEST_F(TenantFloorTest, ThePlanSaysSo) {
  set_floor();
  world_.start();

  const auto plan = world_.run(world_.engine().plan(admin_, {}, ""));

  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->driver, "strong");
  EXPECT_EQ(plan->min_isolation, Isolation::vm);
  EXPECT_EQ(plan->placement, Placement::own);
}

}  // namespace
}  // namespace atl
