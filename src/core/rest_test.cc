// What the engine promises about sandboxes that wait and come back.
#include "core/engine.h"
#include "core/engine_world_internal.h"
#include "core/event_log.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RestTest : public ::testing::Test {
 protected:
  explicit RestTest(EngineWorld::Keeps keeps = EngineWorld::Keeps::memory) : world_(keeps) {
    world_.add().capabilities.pause = Pause::memory;
  }

  // Idle after 5 s, over after 60.
  std::string make(OnEnd on_idle, OnEnd on_expire, std::optional<seconds> keep = {}) {
    CreateRequest request;
    request.idle = seconds(5);
    request.ttl = seconds(60);
    request.on_idle = on_idle;
    request.on_expire = on_expire;
    request.keep = keep;
    return world_.create(std::move(request)).value().id;
  }
  void pass(seconds time) {
    world_.advance(time);
    world_.reap();
  }
  Result<GuestLease> use(const std::string& id) { return world_.run(world_.engine().use({}, id)); }
  SandboxView view(const std::string& id) { return world_.engine().get({}, id).value(); }

  EngineWorld world_;
};

TEST_F(RestTest, AnIdleSandboxPausesAndItsNextUseWakesIt) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);

  pass(seconds(5));
  EXPECT_EQ(view(id).state, State::paused);
  EXPECT_EQ(view(id).rest, Rest::idle);
  EXPECT_TRUE(world_.host().boxes.at(id)->paused);
  const auto lease = use(id);

  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(view(id).state, State::running);
  EXPECT_EQ(view(id).rest, Rest::none);
  EXPECT_FALSE(world_.host().boxes.at(id)->paused);
}

TEST_F(RestTest, AnIdleSandboxStopsAndItsNextUseStartsIt) {
  world_.start();
  const auto id = make(OnEnd::stop, OnEnd::kill);
  world_.host().boxes.at(id)->files["/workspace/kept"] = {.bytes = "still here"};

  pass(seconds(5));
  EXPECT_EQ(view(id).state, State::stopped);
  EXPECT_FALSE(world_.host().is_running(id));
  const auto lease = use(id);

  ASSERT_TRUE(lease) << lease.error().message();
  EXPECT_EQ(world_.exec(id, {"cat", "/workspace/kept"}), "still here");
}

TEST_F(RestTest, AUsedSandboxDoesNotRest) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);

  const auto lease = use(id);
  pass(seconds(30));

  EXPECT_EQ(view(id).state, State::running);
}

TEST_F(RestTest, AWokenSandboxRestsAgain) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  for (int round = 0; round < 3; ++round) {
    pass(seconds(5));
    ASSERT_EQ(view(id).state, State::paused);
    ASSERT_TRUE(use(id));
    ASSERT_EQ(view(id).state, State::running);
  }
}

TEST_F(RestTest, UsesAtTheSameTimeJoinOneWaking) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  pass(seconds(5));
  world_.host().hold("resume");

  const auto first = world_.begin(world_.engine().use({}, id));
  const auto second = world_.begin(world_.engine().use({}, id));
  EXPECT_FALSE(first.done());
  world_.host().release("resume");
  world_.settle();

  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_EQ(world_.host().count("resume"), 1U);
}

TEST_F(RestTest, AUseThatComesWhileItFallsAsleepWaitsAndWakesIt) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  world_.host().hold("pause");
  pass(seconds(5));

  EXPECT_EQ(world_.engine().guest({}, id).error().code(), Code::conflict);
  const auto used = world_.begin(world_.engine().use({}, id));
  EXPECT_FALSE(used.done());
  world_.host().release("pause");
  world_.settle();

  ASSERT_TRUE(used.done());
  EXPECT_TRUE(used.get());
  EXPECT_EQ(view(id).state, State::running);
  EXPECT_FALSE(world_.host().boxes.at(id)->paused);
}

TEST_F(RestTest, AViewerWakesNobody) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  pass(seconds(5));

  const auto looked = world_.run(world_.engine().use({.role = Role::viewer}, id));

  EXPECT_EQ(looked.error().code(), Code::conflict);
  EXPECT_EQ(view(id).state, State::paused);
}

TEST_F(RestTest, WhatSomebodyHasPausedWaitsForItsResume) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));

  const auto used = use(id);

  EXPECT_EQ(used.error().code(), Code::conflict);
  EXPECT_THAT(used.error().hint(), HasSubstr("resume it first"));
}

TEST_F(RestTest, WhatRestsAndIsThenPausedByHandWaitsForItsResume) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  pass(seconds(5));
  ASSERT_EQ(view(id).rest, Rest::idle);

  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));

  EXPECT_EQ(view(id).rest, Rest::none);
  EXPECT_EQ(use(id).error().code(), Code::conflict);
}

TEST_F(RestTest, AWakingThatFailsSaysWhyAndTheNextOneMaySucceed) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  pass(seconds(5));
  world_.host().fail("resume", Error(Code::unavailable, "no memory now"));

  const auto failed = use(id);
  EXPECT_EQ(failed.error().code(), Code::unavailable);
  EXPECT_THAT(failed.error().message(), HasSubstr("no memory now"));
  EXPECT_EQ(failed.error().stage(), "wake");
  EXPECT_EQ(view(id).state, State::paused);

  EXPECT_TRUE(use(id));
}

TEST_F(RestTest, AnExpiredSandboxIsPausedAndEndsWhenItHasBeenKept) {
  world_.start();
  const auto id = make(OnEnd::kill, OnEnd::pause, seconds(100));
  const auto held = use(id);  // so that it is not idle
  EXPECT_EQ(*view(id).kept_until - *view(id).expires_at, seconds(100));
  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(160))
      << "its driver ends it last";

  pass(seconds(60));
  EXPECT_EQ(view(id).state, State::paused);
  EXPECT_EQ(view(id).rest, Rest::expired);
  pass(seconds(99));
  EXPECT_EQ(view(id).state, State::paused);
  pass(seconds(1));

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(RestTest, WhoeverComesBackAfterTheEndHasItsTimeAnew) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::stop, seconds(100));
  pass(seconds(60));
  ASSERT_EQ(view(id).state, State::stopped);

  ASSERT_TRUE(use(id));

  EXPECT_EQ(*view(id).expires_at, world_.clock.wall() + seconds(60));
  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(160));
  pass(seconds(159));
  EXPECT_TRUE(world_.host().has(id));
  pass(seconds(1));
  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(RestTest, AnIdleSandboxThatRestsStillEndsWithItsTime) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);

  pass(seconds(5));
  pass(seconds(55));

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(RestTest, APausedOneIsStoppedWhenThatIsWhatItsEndIs) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::stop);

  pass(seconds(5));
  EXPECT_EQ(view(id).state, State::paused);
  pass(seconds(55));

  EXPECT_EQ(view(id).state, State::stopped);
  EXPECT_EQ(view(id).rest, Rest::expired);
  EXPECT_TRUE(use(id));
}

TEST_F(RestTest, ARestThatFailsIsTriedAgainLaterAndLaterStill) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::kill);
  world_.host().fail("pause", Error(Code::unavailable, "busy"), 2);

  pass(seconds(5));
  EXPECT_EQ(world_.host().count("pause"), 1U);
  pass(seconds(9));
  EXPECT_EQ(world_.host().count("pause"), 1U);
  pass(seconds(1));
  EXPECT_EQ(world_.host().count("pause"), 2U);
  pass(seconds(19));
  EXPECT_EQ(world_.host().count("pause"), 2U);
  EXPECT_EQ(view(id).state, State::running);
  pass(seconds(1));

  EXPECT_EQ(view(id).state, State::paused);
}

TEST_F(RestTest, ARenewalMovesTheEndAndHowLongItIsKept) {
  world_.start();
  const auto id = make(OnEnd::kill, OnEnd::pause, seconds(100));

  ASSERT_TRUE(world_.run(world_.engine().renew({}, id, seconds(30))));

  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(130));
}

TEST_F(RestTest, ADriverThatCannotPauseIsRefusedAndOneThatStopsIsNot) {
  world_.host().capabilities.pause = Pause::none;
  world_.start();
  CreateRequest request;
  request.on_expire = OnEnd::pause;

  const auto refused = world_.create(std::move(request));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("fake cannot pause a sandbox"));

  CreateRequest stops;
  stops.on_expire = OnEnd::stop;
  EXPECT_TRUE(world_.create(std::move(stops)));
}

TEST_F(RestTest, NothingLivesLongerThanItsDriverAllows) {
  world_.host().capabilities.max_lifetime_s = 100;
  world_.start();
  const auto id = make(OnEnd::kill, OnEnd::pause, seconds(1000));

  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(100));
  const auto held = use(id);
  pass(seconds(60));
  EXPECT_EQ(view(id).state, State::paused);
  ASSERT_TRUE(use(id));
  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(40));
  pass(seconds(40));

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(RestTest, WordsThatMeanNothingAreRefused) {
  world_.start();
  CreateRequest idle;
  idle.on_idle = OnEnd::pause;
  EXPECT_THAT(world_.create(std::move(idle)).error().message(), HasSubstr("on_idle: "));
  CreateRequest keep;
  keep.keep = seconds(5);
  EXPECT_THAT(world_.create(std::move(keep)).error().message(), HasSubstr("keep_s: "));

  CreateRequest run;
  run.on_expire = OnEnd::pause;
  ExecRequest exec;
  exec.argv = {"true"};
  const auto ran = world_.run(world_.engine().run({}, std::move(run), std::move(exec), "", 10));
  EXPECT_THAT(ran.error().message(), HasSubstr("on_expire: a run's sandbox ends"));
}

class RestAfterCrashTest : public RestTest {
 protected:
  RestAfterCrashTest() : RestTest(EngineWorld::Keeps::file) {}

  // What was handed to the store before is written.
  void flush(const std::string& id) { ASSERT_TRUE(world_.run(world_.store().find_sandbox(id))); }
};

TEST_F(RestAfterCrashTest, WhatRestsIsKnownAgainAndWokenByItsNextUse) {
  world_.start();
  const auto id = make(OnEnd::pause, OnEnd::stop);
  pass(seconds(5));
  world_.wait_until([&] { return view(id).state == State::paused; });
  flush(id);

  world_.restart();
  EXPECT_EQ(view(id).state, State::paused);
  EXPECT_EQ(view(id).rest, Rest::idle);

  ASSERT_TRUE(use(id));
  EXPECT_EQ(view(id).state, State::running);
}

TEST_F(RestAfterCrashTest, WhatExpiresWhileNobodyIsThereRestsWhenSomebodyIs) {
  world_.start();
  const auto id = make(OnEnd::kill, OnEnd::pause, seconds(100));

  world_.crash();
  world_.advance(seconds(70));
  world_.start();
  world_.reap();
  world_.wait_until([&] { return view(id).state == State::paused; });

  EXPECT_EQ(view(id).rest, Rest::expired);
  world_.crash();
  world_.advance(seconds(90));
  world_.start();
  EXPECT_FALSE(world_.host().has(id)) << "it was kept long enough";
}

TEST_F(RestAfterCrashTest, HowItBeganIsKnownAfterItsEndAndOfWhatCouldNotBeMade) {
  world_.start();
  const auto id = world_.create_named("web");
  ASSERT_TRUE(world_.run(world_.engine().destroy({}, id)));
  world_.host().fail("create", Error(Code::internal, "the kernel said no"));
  std::string failed;
  CreateRequest request;
  request.name = "never";
  const auto refused = world_.create(std::move(request));
  ASSERT_FALSE(refused);
  const std::string& told = refused.error().message();
  failed = told.substr(told.find("sbx"), 23);
  flush(failed);

  world_.restart();

  const auto ended = world_.run(world_.engine().start_record({}, id));
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(ended->state, State::destroyed);
  EXPECT_THAT(ended->stages, ::testing::Contains(::testing::Field(&Stage::name, "create")));
  const auto never = world_.run(world_.engine().start_record({}, failed));
  ASSERT_TRUE(never) << never.error().message();
  ASSERT_FALSE(never->stages.empty());
  EXPECT_EQ(never->stages.back().name, "create");
  EXPECT_THAT(never->stages.back().log.value_or(""), HasSubstr("the kernel said no"));
  EXPECT_EQ(world_.run(world_.engine().start_record({.tenant = "other"}, id)).error().code(),
            Code::not_found);
}

}  // namespace
}  // namespace atl
