// What the engine promises about a sandbox between its beginning and its end.
#include "core/engine.h"
#include "core/engine_world_internal.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LifeTest : public ::testing::Test {
 protected:
  LifeTest() { world_.add(); }

  Result<SandboxView> stop(std::string id) { return world_.run(world_.engine().stop({}, id)); }
  Result<SandboxView> start(std::string id) { return world_.run(world_.engine().start({}, id)); }
  Result<> destroy(std::string id) { return world_.run(world_.engine().destroy({}, id)); }

  EngineWorld world_;
};

TEST_F(LifeTest, ADestroyedSandboxIsGoneAndStaysGone) {
  world_.start();
  const auto id = world_.create_named("web");

  ASSERT_TRUE(destroy("web"));

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  const auto again = destroy(id);
  EXPECT_EQ(again.error().code(), Code::not_found);
  EXPECT_THAT(again.error().message(), HasSubstr("was destroyed"));
  EXPECT_NE(world_.create_named("web"), id) << "the name is free";
}

TEST_F(LifeTest, TwoDestructionsAtTheSameTimeBothSucceed) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().hold("destroy");

  const auto first = world_.begin(world_.engine().destroy({}, id));
  const auto second = world_.begin(world_.engine().destroy({}, id));
  world_.host().release("destroy");
  world_.settle();

  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_EQ(world_.host().count("destroy"), 1U);
}

TEST_F(LifeTest, DestructionWinsOverEverythingThatWaits) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().hold("stop");

  const auto running = world_.begin(world_.engine().stop({}, id));
  const auto waiting = world_.begin(world_.engine().recreate({}, id));
  const auto destroyed = world_.begin(world_.engine().destroy({}, id));
  EXPECT_EQ(waiting.get().error().code(), Code::conflict);
  EXPECT_FALSE(destroyed.done());
  world_.host().release("stop");
  world_.settle();

  EXPECT_TRUE(running.get());
  EXPECT_TRUE(destroyed.get());
  EXPECT_EQ(world_.host().count("recreate"), 0U);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(LifeTest, DestructionOfWhatIsBeingMadeWaitsForIt) {
  world_.start();
  world_.host().hold("create");
  CreateRequest request;
  request.name = "web";
  const auto created = world_.begin(world_.engine().create({}, std::move(request), {}));

  const auto destroyed = world_.begin(world_.engine().destroy({}, "web"));
  EXPECT_FALSE(destroyed.done());
  world_.host().release("create");
  world_.settle();

  EXPECT_TRUE(created.done());
  EXPECT_TRUE(destroyed.get());
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(LifeTest, WhatIsDestroyedWhileItsImageIsFetchedIsGivenUp) {
  world_.host().fetches = true;
  world_.start();
  world_.host().hold("fetch");
  CreateRequest request;
  request.name = "web";
  const auto created = world_.begin(world_.engine().create({}, std::move(request), {}));
  ASSERT_FALSE(created.done());

  const auto destroyed = world_.begin(world_.engine().destroy({}, "web"));

  ASSERT_TRUE(destroyed.done());
  EXPECT_TRUE(destroyed.get());
  ASSERT_TRUE(created.done());
  EXPECT_EQ(created.get().error().code(), Code::cancelled);
  EXPECT_EQ(world_.host().count("create"), 0U);
  EXPECT_EQ(world_.engine().get({}, "web").error().code(), Code::not_found);
}

TEST_F(LifeTest, WhatCouldNotBeDestroyedIsAsSoonAsItsDriverIsBack) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().down();
  EXPECT_FALSE(destroy(id));
  ASSERT_TRUE(world_.run(world_.engine().catch_up()));
  EXPECT_EQ(world_.state_of(id), State::stopping);
  // Whoever is away is asked whether it is back, and nothing else.
  const size_t before = world_.host().count("destroy");
  ASSERT_TRUE(world_.run(world_.engine().catch_up()));
  EXPECT_EQ(world_.host().count("destroy"), before);

  world_.host().up();
  ASSERT_TRUE(world_.run(world_.engine().catch_up()));

  EXPECT_FALSE(world_.host().has(id));
  EXPECT_EQ(world_.engine().get({}, id).error().code(), Code::not_found);
}

TEST_F(LifeTest, ADriverThatIsBackIsUsedAgainBeforeTheNextSweep) {
  world_.start();
  world_.host().down();
  world_.sweep();
  EXPECT_EQ(world_.create().error().code(), Code::unavailable);

  world_.host().up();
  ASSERT_TRUE(world_.run(world_.engine().catch_up()));

  EXPECT_TRUE(world_.create());
}

TEST_F(LifeTest, ADriverThatNobodyMissesIsLeftToTheSweep) {
  FakeHost& never = world_.add("never");
  never.down();
  world_.start();
  const size_t before = never.count("probe");

  ASSERT_TRUE(world_.run(world_.engine().catch_up()));

  EXPECT_EQ(never.count("probe"), before);
}

TEST_F(LifeTest, WhatTheDriverCannotDestroyNowTheSweeperDestroysLater) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().fail("destroy", Error(Code::unavailable, "busy"), 2);

  const auto refused = destroy(id);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_EQ(world_.state_of(id), State::stopping);
  world_.sweep();
  EXPECT_TRUE(world_.host().has(id));
  world_.sweep();

  EXPECT_FALSE(world_.host().has(id));
  EXPECT_EQ(world_.engine().get({}, id).error().code(), Code::not_found);
}

TEST_F(LifeTest, OperationsOnOneSandboxHappenInOrder) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().hold("stop");

  const auto stopped = world_.begin(world_.engine().stop({}, id));
  const auto started = world_.begin(world_.engine().start({}, id));
  EXPECT_EQ(world_.host().count("recreate"), 0U);
  world_.host().release("stop");
  world_.settle();

  EXPECT_EQ(stopped.get()->state, State::stopped);
  EXPECT_EQ(started.get()->state, State::running);
}

TEST_F(LifeTest, AStoppedSandboxKeepsItsFilesAndEnvironmentAndStartsAgain) {
  world_.start();
  CreateRequest request;
  request.env = {{"A", "1"}};
  const auto id = world_.create(std::move(request))->id;
  world_.host().boxes.at(id)->files["/workspace/f"] = {.bytes = "kept"};

  ASSERT_TRUE(stop(id));
  EXPECT_EQ(world_.engine().guest({}, id).error().code(), Code::conflict);
  EXPECT_EQ(world_.engine().guest({}, id).error().hint(), "start it first");
  ASSERT_TRUE(start(id));

  EXPECT_EQ(world_.exec(id, {"cat", "f"}), "kept");
  EXPECT_EQ(world_.exec(id, {"env"}), "A=1\n");
}

TEST_F(LifeTest, StoppingTwiceAndStartingTwiceIsFine) {
  world_.start();
  const auto id = world_.create()->id;

  EXPECT_TRUE(start(id));
  EXPECT_TRUE(stop(id));
  EXPECT_TRUE(stop(id));
  EXPECT_EQ(world_.host().count("stop"), 1U);
  EXPECT_EQ(world_.host().count("recreate"), 0U);
}

TEST_F(LifeTest, AStopThatFailsLeavesItRunning) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().fail("stop", Error(Code::internal, "stuck"));

  EXPECT_FALSE(stop(id));

  EXPECT_EQ(world_.state_of(id), State::running);
  EXPECT_TRUE(stop(id));
}

TEST_F(LifeTest, AStartThatFailsLeavesItStopped) {
  world_.start();
  const auto id = world_.create()->id;
  ASSERT_TRUE(stop(id));
  world_.host().fail("recreate", Error(Code::resource_exhausted, "full"));

  EXPECT_EQ(start(id).error().code(), Code::resource_exhausted);

  EXPECT_EQ(world_.state_of(id), State::stopped);
  EXPECT_TRUE(start(id));
}

TEST_F(LifeTest, RecreateGivesFreshProcesses) {
  world_.start();
  const auto id = world_.create()->id;
  world_.exec(id, {"true"});

  ASSERT_TRUE(world_.run(world_.engine().recreate({}, id)));

  EXPECT_THAT(world_.host().boxes.at(id)->processes, IsEmpty());
  EXPECT_EQ(world_.state_of(id), State::running);
}

TEST_F(LifeTest, ItsTimeToLiveIsTheEndOfIt) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;

  world_.advance(seconds(10) - Micros(1));
  world_.reap();
  EXPECT_TRUE(world_.host().has(id));
  world_.advance(Micros(1));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
  EXPECT_THAT(world_.engine().get({}, id).error().message(), HasSubstr("has expired"));
  EXPECT_EQ(world_.metrics.expirations.at().value(), 1U);
}

TEST_F(LifeTest, TheDriverKnowsTheDeadlineToo) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);

  const auto id = world_.create(std::move(request))->id;

  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(10));
}

TEST_F(LifeTest, AStoppedSandboxExpiresToo) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;
  ASSERT_TRUE(stop(id));

  world_.advance(seconds(10));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, RenewalCountsFromNowAndReachesTheDriver) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;
  world_.advance(seconds(9));

  const auto view = world_.run(world_.engine().renew({}, id, seconds(20)));
  world_.advance(seconds(19));
  world_.reap();
  EXPECT_TRUE(world_.host().has(id));
  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, world_.clock.boot() + seconds(1));
  world_.advance(seconds(1));
  world_.reap();

  ASSERT_TRUE(view);
  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, RenewalMayAlsoShorten) {
  world_.start();
  const auto id = world_.create()->id;

  ASSERT_TRUE(world_.run(world_.engine().renew({}, id, seconds(1))));
  world_.advance(seconds(1));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, ARenewalThatTheDriverRefusesChangesNothing) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;
  world_.host().fail("renew", Error(Code::internal, "no"));

  EXPECT_FALSE(world_.run(world_.engine().renew({}, id, seconds(100))));
  world_.advance(seconds(10));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, ARenewalThatWaitsSavesASandboxWhoseTimeIsUp) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;
  world_.host().hold("renew");
  const auto renewed = world_.begin(world_.engine().renew({}, id, seconds(60)));
  world_.advance(seconds(10));

  world_.reap();
  world_.host().release("renew");
  world_.settle();

  EXPECT_TRUE(renewed.get());
  EXPECT_TRUE(world_.host().has(id));
}

TEST_F(LifeTest, AnIdleSandboxEndsAndAUsedOneDoesNot) {
  world_.start();
  CreateRequest request;
  request.idle = seconds(5);
  const auto id = world_.create(std::move(request))->id;

  world_.advance(seconds(4));
  world_.exec(id, {"true"});
  world_.advance(seconds(4));
  world_.reap();
  EXPECT_TRUE(world_.host().has(id));
  world_.advance(seconds(1));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, TheIdleClockStandsStillWhileALeaseIsHeld) {
  world_.start();
  CreateRequest request;
  request.idle = seconds(5);
  const auto id = world_.create(std::move(request))->id;
  {
    const auto lease = world_.engine().guest({}, id);
    ASSERT_TRUE(lease);
    world_.advance(seconds(100));
    world_.reap();
    EXPECT_TRUE(world_.host().has(id));
  }

  world_.advance(seconds(4));
  world_.reap();
  EXPECT_TRUE(world_.host().has(id));
  world_.advance(seconds(1));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, ALeaseOutlivesTheSandboxAndSaysThatItIsGone) {
  world_.start();
  const auto id = world_.create()->id;
  auto lease = world_.engine().guest({}, id).value();

  ASSERT_TRUE(destroy(id));
  const auto listed = world_.run(lease->processes());

  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), Code::unavailable);
}

TEST_F(LifeTest, ASandboxThatDiesHasFailedAndKeepsItsFilesUntilItsEnd) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(10);
  const auto id = world_.create(std::move(request))->id;

  world_.host().end(id, EndedBy::death);
  EXPECT_EQ(world_.state_of(id), State::failed);
  EXPECT_EQ(world_.engine().get({}, id)->failure, "its first process died");
  EXPECT_TRUE(world_.host().has(id));
  world_.advance(seconds(10));
  world_.reap();

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(LifeTest, AFailedSandboxCanBeRecreated) {
  world_.start();
  const auto id = world_.create()->id;
  world_.host().boxes.at(id)->files["/workspace/f"] = {.bytes = "kept"};
  world_.host().end(id, EndedBy::death);

  const auto view = world_.run(world_.engine().recreate({}, id));

  ASSERT_TRUE(view);
  EXPECT_EQ(view->failure, "");
  EXPECT_EQ(world_.exec(id, {"cat", "f"}), "kept");
}

TEST_F(LifeTest, WhatTheDriverEndedAtItsDeadlineHasExpired) {
  world_.start();
  const auto id = world_.create()->id;

  world_.host().end(id, EndedBy::expiry);
  world_.settle();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().get({}, id).error().message(), HasSubstr("has expired"));
}

TEST_F(LifeTest, ASandboxThatEndsWhileItStartsIsAFailedCreation) {
  world_.start();
  world_.host().on_step = [this](std::string step) -> Task<> {
    if (step == "create after") {
      for (const auto& id : world_.host().ids()) world_.host().end(id, EndedBy::death);
    }
    co_return Result<>();
  };

  const auto view = world_.create();

  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Code::unavailable);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(LifeTest, WhatADriverCannotDoIsSaidWithTheDriversThatCan) {
  world_.add("criu").capabilities.pause = Pause::memory;
  world_.start();
  const auto id = world_.create()->id;

  const auto paused = world_.run(world_.engine().pause({}, id));
  const auto forked = world_.run(world_.engine().fork({}, id, 2));
  const auto snapped = world_.run(world_.engine().snapshot({}, id, {}));
  const auto resized = world_.run(world_.engine().resize({}, id, {.cpu = 1}));

  EXPECT_EQ(paused.error().code(), Code::unsupported);
  EXPECT_EQ(paused.error().message(), "fake cannot pause");
  EXPECT_EQ(paused.error().hint(), "criu can");
  EXPECT_EQ(forked.error().hint(), "no configured driver can");
  EXPECT_EQ(snapped.error().code(), Code::unsupported);
  EXPECT_EQ(resized.error().code(), Code::unsupported);
}

TEST_F(LifeTest, PausesAndResumesWhereTheDriverCan) {
  world_.host().capabilities.pause = Pause::memory;
  world_.start();
  const auto id = world_.create()->id;

  EXPECT_EQ(world_.run(world_.engine().pause({}, id))->state, State::paused);
  EXPECT_EQ(world_.engine().guest({}, id).error().hint(), "resume it first");
  EXPECT_EQ(world_.run(world_.engine().resume({}, id))->state, State::running);
}

TEST_F(LifeTest, APausedSandboxThatIsRecreatedRuns) {
  world_.host().capabilities.pause = Pause::memory;
  world_.start();
  const auto id = world_.create()->id;
  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));

  EXPECT_EQ(world_.run(world_.engine().recreate({}, id))->state, State::running);

  EXPECT_FALSE(world_.host().boxes.at(id)->paused);
}

TEST_F(LifeTest, APausedSandboxThatIsStoppedIsThawedFirst) {
  world_.host().capabilities.pause = Pause::memory;
  world_.start();
  const auto id = world_.create()->id;
  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));

  const auto stopped = world_.run(world_.engine().stop({}, id));

  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_EQ(stopped->state, State::stopped);
  EXPECT_FALSE(world_.host().boxes.at(id)->paused);
  EXPECT_EQ(world_.run(world_.engine().start({}, id))->state, State::running);
}

TEST_F(LifeTest, APausedSandboxThatCannotBeThawedStaysPaused) {
  world_.host().capabilities.pause = Pause::memory;
  world_.start();
  const auto id = world_.create()->id;
  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));
  world_.host().fail("resume", Error(Code::unavailable, "the host hangs"));

  EXPECT_FALSE(world_.run(world_.engine().stop({}, id)));

  EXPECT_EQ(world_.state_of(id), State::paused);
  EXPECT_EQ(world_.run(world_.engine().stop({}, id))->state, State::stopped);
}

TEST_F(LifeTest, APausedSandboxIsStillPausedAfterARestart) {
  EngineWorld world(EngineWorld::Keeps::file);
  world.add().capabilities.pause = Pause::memory;
  world.start();
  const auto id = world.create()->id;
  ASSERT_TRUE(world.run(world.engine().pause({}, id)));

  world.restart();

  EXPECT_EQ(world.state_of(id), State::paused);
  EXPECT_TRUE(world.host().boxes.at(id)->paused);
  EXPECT_EQ(world.run(world.engine().resume({}, id))->state, State::running);
  EXPECT_FALSE(world.host().boxes.at(id)->paused);
}

TEST_F(LifeTest, AResizeIsTrueAfterARestartToo) {
  EngineWorld world(EngineWorld::Keeps::file);
  world.add().capabilities.resize = true;
  world.start();
  const auto id = world.create()->id;

  const auto resized =
      world.run(world.engine().resize({}, id, {.memory_mb = 64, .cpu_weight = 300}));
  world.restart();

  ASSERT_TRUE(resized);
  const Resources now = world.engine().get({}, id)->resources;
  EXPECT_EQ(now, (Resources{.memory_mb = 64, .cpu_weight = 300}));
}

TEST_F(LifeTest, TheNumberOfDedicatedProcessorsIsSettled) {
  world_.host().capabilities.resize = true;
  world_.host().capabilities.dedicated = true;
  world_.start();
  CreateRequest request;
  request.resources = {.cpu = 2, .sharing = Sharing::dedicated};
  const auto id = world_.create(std::move(request))->id;

  EXPECT_EQ(world_.run(world_.engine().resize({}, id, {.cpu = 1})).error().code(),
            Code::unsupported);
  EXPECT_TRUE(world_.run(world_.engine().resize({}, id, {.pids = 10})));
}

TEST_F(LifeTest, CommandsTakeUserAndDirectoryFromTheSandboxUnlessTheySay) {
  EngineWorld world(EngineWorld::Keeps::file);
  world.add().capabilities.users = true;
  world.start();
  CreateRequest request;
  request.defaults = {"root", "/srv"};
  const auto id = world.create(std::move(request))->id;
  world.restart();

  const auto silent = world.engine().complete({}, id, {});
  ExecRequest said;
  said.user = "user";
  said.cwd = "/tmp";
  const auto loud = world.engine().complete({}, id, std::move(said));

  EXPECT_EQ(silent->user + " in " + silent->cwd, "root in /srv");
  EXPECT_EQ(loud->user + " in " + loud->cwd, "user in /tmp");
}

TEST_F(LifeTest, AnUnknownUserIsRefusedWithDriversThatHaveUsers) {
  world_.add("boxes").capabilities.users = true;
  world_.start();
  CreateRequest request;
  request.driver = "fake";
  const auto id = world_.create(std::move(request))->id;
  ExecRequest exec;
  exec.user = "root";

  const auto refused = world_.engine().complete({}, id, std::move(exec));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "fake cannot run as user root");
  EXPECT_EQ(refused.error().hint(), "boxes can");
}

TEST_F(LifeTest, ExplainingMakesNothing) {
  world_.start();

  const auto told = world_.run(world_.engine().explain({}, {}));

  ASSERT_TRUE(told);
  EXPECT_EQ(told->driver, "fake");
  EXPECT_EQ(told->plan, "made by fake\n");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty());
}

TEST_F(LifeTest, AStoppedOneIsNotForkedAndTheHintSaysWhatHelps) {
  world_.host().capabilities.fork = true;
  world_.start();
  const auto id = world_.create_named("parent");
  ASSERT_TRUE(world_.run(world_.engine().stop({}, id)));

  const auto children = world_.run(world_.engine().fork({}, id, 1));

  EXPECT_EQ(children.error().code(), Code::conflict);
  EXPECT_EQ(children.error().hint(), "start it first");
}

TEST_F(LifeTest, ForksWhereTheDriverCan) {
  world_.host().capabilities.fork = true;
  world_.start();
  const auto id = world_.create_named("parent");
  world_.host().boxes.at(id)->files["/workspace/f"] = {.bytes = "copied"};

  const auto children = world_.run(world_.engine().fork({}, id, 2));

  ASSERT_TRUE(children);
  ASSERT_THAT(*children, SizeIs(2));
  for (const auto& child : *children) {
    EXPECT_EQ(child.state, State::running);
    EXPECT_EQ(world_.exec(child.id, {"cat", "f"}), "copied");
  }
  EXPECT_THAT(world_.host().snapshots, IsEmpty());
}

TEST_F(LifeTest, WhatAForkNeededGoesWithTheLastSandbox) {
  world_.host().capabilities.fork = true;
  world_.start();
  const auto id = world_.create_named("parent");
  world_.host().fail("drop_snapshot", Error(Code::conflict, "a child needs it"));
  ASSERT_TRUE(world_.run(world_.engine().fork({}, id, 1)));
  EXPECT_THAT(world_.host().snapshots, SizeIs(1));

  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::end_sandboxes)));

  EXPECT_THAT(world_.host().snapshots, IsEmpty());
}

TEST_F(LifeTest, AForkWithMemoryNeedsADriverThatKeepsIt) {
  world_.host().capabilities.fork = true;
  auto& able = world_.add("able").capabilities;
  able.fork = able.checkpoint = true;
  world_.start();
  const auto id = world_.create()->id;

  const auto forked = world_.run(world_.engine().fork({}, id, 1, SnapshotKind::memory));

  EXPECT_EQ(forked.error().code(), Code::unsupported);
  EXPECT_EQ(forked.error().hint(), "able can");
  EXPECT_THAT(world_.host().ids(), ElementsAre(id));
}

TEST_F(LifeTest, AForkWithoutTheValuesOfTheEnvironmentIsRefused) {
  EngineWorld world(EngineWorld::Keeps::file);
  world.add().capabilities.fork = true;
  world.start();
  const auto id = world.run(world.engine().create({}, {.env = {{"KEY", "x"}}}, {}))->id;
  world.restart();

  EXPECT_EQ(world.run(world.engine().fork({}, id, 1)).error().code(), Code::conflict);
}

TEST_F(LifeTest, AForkThatFailsLeavesNoChild) {
  world_.host().capabilities.fork = true;
  world_.start();
  const auto id = world_.create()->id;
  world_.host().fail("attach", Error(Code::internal, "lost"));

  EXPECT_FALSE(world_.run(world_.engine().fork({}, id, 3)));

  EXPECT_THAT(world_.host().ids(), ElementsAre(id));
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, SizeIs(1));
}

}  // namespace
}  // namespace atl
