// What the engine promises about kill -9: a new daemon over the same store and the same hosts.
#include "core/recovery.h"

#include "core/engine_world_internal.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() : world_(EngineWorld::Keeps::file) {
    world_.add();
    world_.start();
  }
  Task<> go_away(bool is_time) {
    if (!is_time) co_return Result<>();
    world_.host().down();
    co_return Error(Code::unavailable, "it went away");
  }

  EngineWorld world_;
};

TEST_F(RecoveryTest, SandboxesAreTakenUpAsTheyWere) {
  CreateRequest request;
  request.name = "web";
  request.user_id = "ada";
  request.labels = {{"team", "blue"}};
  request.env = {{"SECRET", "hunter2"}};
  request.resources = {.cpu = 0.5, .memory_mb = 64};
  request.ttl = seconds(100);
  request.idle = seconds(50);
  const auto before = world_.create(std::move(request)).value();

  world_.restart();

  const auto after = world_.engine().get({}, "web");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->id, before.id);
  EXPECT_EQ(after->state, State::running);
  EXPECT_EQ(after->user_id, "ada");
  EXPECT_EQ(after->labels, before.labels);
  EXPECT_EQ(after->resources.cpu, 0.5);
  EXPECT_EQ(after->created_at, before.created_at);
  EXPECT_EQ(after->expires_at, before.expires_at);
  EXPECT_EQ(after->idle, seconds(50));
  EXPECT_EQ(world_.exec(before.id, {"env"}), "SECRET=hunter2\n");
}

TEST_F(RecoveryTest, ValuesOfTheEnvironmentNeverReachTheStore) {
  CreateRequest request;
  request.env = {{"SECRET", "hunter2"}};
  const auto id = world_.create(std::move(request))->id;

  const auto row = world_.run(world_.store().find_sandbox(id)).value();

  ASSERT_TRUE(row);
  EXPECT_THAT(row->spec, HasSubstr("SECRET"));
  EXPECT_THAT(row->spec, Not(HasSubstr("hunter2")));
}

TEST_F(RecoveryTest, TwoHundredSandboxesAreTakenUp) {
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(world_.create());

  world_.restart();

  EXPECT_THAT(world_.engine().list({}, {.state = State::running, .limit = 1000})->sandboxes,
              SizeIs(200));
  EXPECT_EQ(world_.host().count("destroy"), 0U);
}

TEST_F(RecoveryTest, TheSameNameAndTheSameKeyStillGiveTheSameSandbox) {
  CreateRequest request;
  request.name = "web";
  request.env = {{"A", "1"}};
  const auto named = world_.create(std::move(request))->id;
  const auto keyed = world_.create({}, Idempotency{"k", "h"})->id;

  world_.restart();

  CreateRequest again;
  again.name = "web";
  again.env = {{"A", "1"}};
  EXPECT_EQ(world_.create(std::move(again))->id, named);
  EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, keyed);
  EXPECT_EQ(world_.create({}, Idempotency{"k", "other"}).error().code(),
            Code::idempotency_mismatch);
}

TEST_F(RecoveryTest, AKeyIsKnownForADayHoweverTheWallsClockIsSet) {
  CreateRequest request;
  request.ttl = std::chrono::hours(48);
  const auto keyed = world_.create(std::move(request), Idempotency{"k", "h"})->id;
  for (const auto step : {std::chrono::hours(30), std::chrono::hours(-90)}) {
    world_.clock.set_wall(world_.clock.wall() + step);
    EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, keyed);
    world_.advance(std::chrono::minutes(2));
    world_.sweep();  // which prunes what is over
    world_.restart();
    EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, keyed);
  }

  world_.advance(std::chrono::hours(24));
  EXPECT_NE(world_.create({}, Idempotency{"k", "h"})->id, keyed);
}

TEST_F(RecoveryTest, AfterARebootAKeyIsKnownForWhatIsLeftOnTheWallsClock) {
  CreateRequest request;
  request.ttl = std::chrono::hours(48);
  const auto keyed = world_.create(std::move(request), Idempotency{"k", "h"})->id;
  world_.crash();
  world_.options.boot_id = "boot-2";
  world_.clock.set_wall(world_.clock.wall() + std::chrono::hours(23));

  world_.start();
  EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, keyed);
  world_.advance(std::chrono::hours(1));

  EXPECT_NE(world_.create({}, Idempotency{"k", "h"})->id, keyed);
}

TEST_F(RecoveryTest, AStoppedSandboxStaysStoppedAndItsDriverKeepsTheEnvironment) {
  CreateRequest request;
  request.env = {{"A", "1"}};
  const auto id = world_.create(std::move(request))->id;
  ASSERT_TRUE(world_.run(world_.engine().stop({}, id)));

  world_.restart();
  EXPECT_EQ(world_.state_of(id), State::stopped);
  ASSERT_TRUE(world_.run(world_.engine().start({}, id)));

  EXPECT_EQ(world_.exec(id, {"env"}), "A=1\n");
}

TEST_F(RecoveryTest, WhatDiedMeanwhileHasFailedAndCanBeRecreated) {
  const auto id = world_.create()->id;
  world_.crash();
  world_.host().end_unheard(id);

  world_.start();

  EXPECT_EQ(world_.state_of(id), State::failed);
  EXPECT_THAT(world_.engine().get({}, id)->failure, HasSubstr("while Atoll was away"));
  EXPECT_TRUE(world_.run(world_.engine().recreate({}, id)));
}

TEST_F(RecoveryTest, WhatIsGoneWithoutATraceHasFailedAndCanBeDestroyed) {
  const auto id = world_.create()->id;
  world_.crash();
  world_.host().lose(id);

  world_.start();

  EXPECT_EQ(world_.state_of(id), State::failed);
  EXPECT_EQ(world_.run(world_.engine().recreate({}, id)).error().code(), Code::conflict);
  EXPECT_TRUE(world_.run(world_.engine().destroy({}, id)));
}

TEST_F(RecoveryTest, WhatExpiredMeanwhileIsDestroyed) {
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;
  world_.crash();
  world_.host().end_unheard(id);  // the launcher has acted
  world_.advance(seconds(11));

  world_.start();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().get({}, id).error().message(), HasSubstr("has expired"));
  const auto row = world_.run(world_.store().find_sandbox(id)).value();
  EXPECT_EQ(row->state, "destroyed");
  EXPECT_EQ(row->failure, "expired");
}

TEST_F(RecoveryTest, TheDeadlineHoldsAcrossARestart) {
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;
  world_.advance(seconds(6));
  world_.restart();

  world_.advance(seconds(3));
  world_.reap();
  EXPECT_TRUE(world_.host().has(id));
  world_.advance(seconds(1));
  world_.reap();

  world_.wait_until([&] { return !world_.host().has(id); });
}

TEST_F(RecoveryTest, AfterARebootWhatIsLeftIsCountedOnTheWallClock) {
  CreateRequest request;
  request.ttl = seconds(100);
  const auto id = world_.create(std::move(request))->id;
  world_.crash();
  world_.options.boot_id = "boot-2";
  world_.advance(seconds(60));

  world_.start();
  world_.advance(seconds(39));
  world_.reap();
  EXPECT_TRUE(world_.host().has(id));
  world_.advance(seconds(1));
  world_.reap();

  world_.wait_until([&] { return !world_.host().has(id); });
}

TEST_F(RecoveryTest, AnOrphanIsDestroyedAtStart) {
  world_.crash();
  world_.host().add_orphan("sbxorphan");

  world_.start();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(world_.metrics.swept_orphans.at("fake").value(), 1U);
}

TEST_F(RecoveryTest, AnOrphanIsDestroyedLaterWhenItWasSeenTwice) {
  world_.host().add_orphan("sbxorphan");

  world_.sweep();
  EXPECT_TRUE(world_.host().has("sbxorphan"));
  world_.sweep();

  EXPECT_FALSE(world_.host().has("sbxorphan"));
}

TEST_F(RecoveryTest, WhatIsBeingMadeIsNoOrphan) {
  world_.host().on_step = [](std::string step) -> Task<> {
    if (step != "create after") co_return Result<>();
    const auto executor = co_await asio::this_coro::executor;
    Event never(executor);
    co_return co_await never.wait();
  };
  const auto created = world_.begin(world_.engine().create({}, {}, {}));
  world_.wait_until([&] { return !world_.host().ids().empty(); });

  world_.sweep();
  world_.sweep();
  world_.sweep();

  EXPECT_FALSE(created.done());
  EXPECT_THAT(world_.host().ids(), SizeIs(1));
}

TEST_F(RecoveryTest, TheSameIdOnAnotherDriverIsAnOrphanThere) {
  world_.add("second");
  world_.restart();
  // The first driver's answer is lost though it made the sandbox, so the second makes it too.
  world_.host().on_step = [](std::string step) -> Task<> {
    if (step == "create after") co_return Error(Code::unavailable, "the answer was lost");
    co_return Result<>();
  };

  const auto view = world_.create();
  world_.host().on_step = nullptr;
  ASSERT_TRUE(view);
  EXPECT_EQ(view->driver, "second");
  EXPECT_TRUE(world_.host(0).has(view->id));
  world_.sweep();
  world_.sweep();

  EXPECT_FALSE(world_.host(0).has(view->id));
  EXPECT_TRUE(world_.host(1).is_running(view->id));
}

TEST_F(RecoveryTest, ARunningSandboxThatVanishesIsFoundBySweeping) {
  const auto id = world_.create()->id;
  world_.host().lose(id);

  world_.sweep();

  EXPECT_EQ(world_.state_of(id), State::failed);
  EXPECT_THAT(world_.engine().get({}, id)->failure, HasSubstr("is gone from driver fake"));
}

TEST_F(RecoveryTest, WhileADriverDoesNotAnswerItsSandboxesKeepTheirState) {
  const auto id = world_.create()->id;
  world_.crash();
  world_.host().down();

  world_.start();
  EXPECT_EQ(world_.state_of(id), State::running);
  EXPECT_EQ(world_.engine().guest({}, id).error().code(), Code::unavailable);
  EXPECT_EQ(world_.run(world_.engine().stop({}, id)).error().code(), Code::unavailable);
  world_.sweep();
  EXPECT_EQ(world_.state_of(id), State::running);
  world_.host().up();
  world_.sweep();

  EXPECT_EQ(world_.exec(id, {"echo", "back"}), "back\n");
}

TEST_F(RecoveryTest, ADriverThatGoesAwayAndComesBackIsNoticed) {
  world_.host().down();
  world_.sweep();
  EXPECT_FALSE(world_.engine().drivers()[0].available);
  EXPECT_EQ(world_.create().error().code(), Code::unavailable);

  world_.host().up();
  world_.sweep();

  EXPECT_TRUE(world_.engine().drivers()[0].available);
  EXPECT_TRUE(world_.create());
}

// Whoever is in a sandbox decides whether its agent answers.
TEST_F(RecoveryTest, OneThatLetsNobodyInTakesNothingFromTheOthers) {
  const auto shut = world_.create()->id;  // the oldest, so it is asked for first
  const auto other = world_.create()->id;
  world_.host().boxes.at(shut)->lets_nobody_in = true;

  world_.restart();

  EXPECT_TRUE(world_.engine().drivers()[0].available);
  EXPECT_EQ(world_.exec(other, {"echo", "here"}), "here\n");
  EXPECT_TRUE(world_.create());
  const auto stopped = world_.run(world_.engine().stop({}, shut));
  EXPECT_EQ(stopped.error().code(), Code::unavailable);
  EXPECT_THAT(stopped.error().message(), HasSubstr("has not handed over sandbox " + shut));
  EXPECT_EQ(world_.engine().guest({}, shut).error().code(), Code::unavailable);
  EXPECT_EQ(world_.state_of(shut), State::running);
  EXPECT_TRUE(world_.engine().drivers()[0].available) << "its own calls do not take it, either";
}

TEST_F(RecoveryTest, WhatLetsNobodyInIsAskedForLessAndLessOften) {
  const auto shut = world_.create()->id;
  world_.host().boxes.at(shut)->lets_nobody_in = true;
  world_.restart();
  world_.host().calls.clear();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world_.run(world_.engine().catch_up()));
    EXPECT_FALSE(world_.run(world_.engine().stop({}, shut)));
  }
  EXPECT_EQ(world_.host().count("attach"), 0U) << "nobody is asked while its pause lasts";

  for (int i = 0; i < 600; ++i) {
    world_.advance(seconds(1));
    ASSERT_TRUE(world_.run(world_.engine().catch_up()));
  }

  EXPECT_GE(world_.host().count("attach"), 8U) << "it is not forgotten";
  EXPECT_LE(world_.host().count("attach"), 16U);
  world_.host().boxes.at(shut)->lets_nobody_in = false;
  world_.advance(seconds(64));
  ASSERT_TRUE(world_.run(world_.engine().catch_up()));
  EXPECT_EQ(world_.exec(shut, {"echo", "back"}), "back\n");
}

TEST_F(RecoveryTest, WhatLetsNobodyInCanBeDestroyed) {
  const auto shut = world_.create()->id;
  world_.host().boxes.at(shut)->lets_nobody_in = true;
  world_.restart();

  const auto destroyed = world_.run(world_.engine().destroy({}, shut));

  EXPECT_TRUE(destroyed) << destroyed.error().message();
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(world_.engine().get({}, shut).error().code(), Code::not_found);
}

TEST_F(RecoveryTest, ADriverThatGoesAwayWhileItHandsThemOverIsNotAskedForEach) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(world_.create());
  const auto id = world_.engine().list({}, {})->sandboxes.front().id;
  world_.crash();
  world_.host().on_step = [this](const std::string& step) {
    return go_away(step == "attach before");
  };
  world_.host().calls.clear();

  world_.start();

  EXPECT_FALSE(world_.engine().drivers()[0].available);
  EXPECT_LE(world_.host().count("attach"), 16U);
  world_.host().on_step = nullptr;
  world_.host().up();
  ASSERT_TRUE(world_.run(world_.engine().catch_up()));
  EXPECT_EQ(world_.exec(id, {"echo", "back"}), "back\n");
}

TEST_F(RecoveryTest, ADriverThatHangsHoldsUpNobodyElsesSweep) {
  world_.add("second");
  world_.restart();
  world_.host(0).calls.clear();
  world_.host(1).add_orphan("sbxorphan");
  world_.host(0).hold("list");

  const auto hanging = world_.begin(world_.engine().sweep());
  EXPECT_FALSE(hanging.done());
  world_.sweep();

  EXPECT_FALSE(world_.host(1).has("sbxorphan"));
  EXPECT_EQ(world_.host(0).count("list"), 1U) << "its last turn is not over";
  world_.host(0).release("list");
  world_.settle();
  EXPECT_TRUE(hanging.done());
}

TEST_F(RecoveryTest, AnIntentThatALaterOneOvertookIsClosed) {
  const auto id = world_.create()->id;
  store::Transaction transaction{store::Durability::boot,
                                 {store::PutIntent{{.id = 101, .sandbox = id, .op = "stop"}},
                                  store::PutIntent{{.id = 102, .sandbox = id, .op = "snapshot"}}}};
  ASSERT_TRUE(world_.run(world_.store().commit(std::move(transaction))));

  world_.restart();

  EXPECT_EQ(world_.state_of(id), State::running);
  EXPECT_THAT(world_.run(world_.store().load())->pending, IsEmpty());
}

TEST_F(RecoveryTest, WhatIsDestroyedWhileItsDriverIsAwayIsDestroyedWhenItIsBack) {
  const auto id = world_.create()->id;
  world_.crash();
  world_.host().down();
  world_.start();

  EXPECT_EQ(world_.run(world_.engine().destroy({}, id)).error().code(), Code::unavailable);
  EXPECT_EQ(world_.state_of(id), State::stopping);
  world_.host().up();
  world_.sweep();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(world_.engine().get({}, id).error().code(), Code::not_found);
}

TEST_F(RecoveryTest, WhatARunLeftIsDestroyed) {
  ExecRequest exec;
  exec.argv = {"sleep"};
  const auto result = world_.begin(world_.engine().run({}, {}, std::move(exec), "", 100));
  world_.wait_until([&] { return !world_.host().ids().empty(); });
  world_.settle();

  world_.restart();

  EXPECT_FALSE(result.done());
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty());
}

TEST_F(RecoveryTest, ARunThatRanIsNotSaidToHaveNeverBegun) {
  for (const bool is_lost : {false, true}) {
    ExecRequest exec;
    exec.argv = {"sleep"};
    const auto result = world_.begin(world_.engine().run({}, {}, std::move(exec), "", 100));
    world_.wait_until([&] { return !world_.run(world_.store().load())->pending.empty(); });
    const std::string id = world_.host().ids().front();
    world_.crash();
    if (is_lost) world_.host().lose(id);

    world_.start();

    EXPECT_FALSE(result.done());
    const auto row = world_.run(world_.store().find_sandbox(id)).value();
    ASSERT_TRUE(row) << is_lost;
    EXPECT_EQ(row->failure, "was cut off when Atoll was interrupted") << is_lost;
  }
}

TEST_F(RecoveryTest, ARowThatNobodyCanReadIsLeftAloneWithItsSandbox) {
  const auto id = world_.create()->id;
  auto row = *world_.run(world_.store().find_sandbox(id)).value();
  row.state = "hibernating";
  store::Transaction transaction{store::Durability::boot, {store::PutSandbox{row}}};
  ASSERT_TRUE(world_.run(world_.store().commit(std::move(transaction))));

  world_.restart();
  world_.sweep();
  world_.sweep();

  EXPECT_TRUE(world_.host().is_running(id));
  EXPECT_EQ(world_.run(world_.store().find_sandbox(id)).value()->state, "hibernating");
}

}  // namespace
}  // namespace atl
