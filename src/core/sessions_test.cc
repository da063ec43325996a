// What the engine promises about sandboxes that several hold.
#include "core/sessions.h"

#include "core/engine_world_internal.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SessionsTest : public ::testing::Test {
 protected:
  explicit SessionsTest(EngineWorld::Keeps keeps = EngineWorld::Keeps::memory) : world_(keeps) {
    world_.add().capabilities.pause = Pause::memory;
  }

  static Caller agent(std::string subject) {
    return {.subject = std::move(subject), .role = Role::agent};
  }
  static SessionAsk workspace(std::string key) {
    return {.scope = SessionScope::workspace, .key = std::move(key)};
  }
  Result<SessionView> open(Caller caller, SessionAsk ask,
                           std::optional<OnEnd> on_last = std::nullopt) {
    std::optional<CreateRequest> request;
    if (on_last) {
      request.emplace();
      request->on_last = on_last;
    }
    return world_.run(
        world_.engine().open_session(std::move(caller), std::move(ask), std::move(request)));
  }
  Result<> close(Caller caller, std::string id) {
    return world_.run(world_.engine().close_session(std::move(caller), std::move(id)));
  }
  void pass(seconds time) {
    world_.advance(time);
    ASSERT_TRUE(world_.run(world_.engine().end_sessions()));
  }

  EngineWorld world_;
};

TEST_F(SessionsTest, OfOneWorkspaceShareASandboxAndTheLastOneEndsIt) {
  world_.start();

  const auto first = open(agent("a"), workspace("web")).value();
  const auto second = open(agent("b"), workspace("web")).value();
  EXPECT_EQ(first.sandbox, second.sandbox);
  EXPECT_EQ(second.holders, 2U);
  EXPECT_THAT(world_.host().ids(), SizeIs(1));

  ASSERT_TRUE(close(agent("a"), first.id));
  EXPECT_TRUE(world_.host().is_running(second.sandbox));
  ASSERT_TRUE(close(agent("b"), second.id));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(SessionsTest, ThatComeAtTheSameTimeMakeOneSandbox) {
  world_.start();
  world_.host().hold("create");

  const auto first = world_.begin(world_.engine().open_session({}, workspace("web"), {}));
  const auto second = world_.begin(world_.engine().open_session({}, workspace("web"), {}));
  world_.host().release("create");
  world_.settle();

  EXPECT_EQ(first.get()->sandbox, second.get()->sandbox);
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(SessionsTest, HoldersSeeTheSandboxAndOthersDoNot) {
  world_.start();
  const auto made = open(agent("a"), workspace("web")).value();
  EXPECT_FALSE(world_.engine().get(agent("b"), made.sandbox));

  const auto joined = open(agent("b"), workspace("web")).value();
  EXPECT_TRUE(world_.engine().get(agent("b"), made.sandbox));
  EXPECT_FALSE(world_.engine().get(agent("c"), made.sandbox));
  EXPECT_FALSE(world_.engine().get_session(agent("a"), joined.id));
  ASSERT_TRUE(close(agent("b"), joined.id));

  EXPECT_FALSE(world_.engine().get(agent("b"), made.sandbox));
  EXPECT_TRUE(world_.engine().get(agent("a"), made.sandbox));
}

TEST_F(SessionsTest, OfAnAgentAreItsOwn) {
  world_.start();
  const auto first = open(agent("keya"), {.scope = SessionScope::agent}).value();
  const auto again = open(agent("keya"), {.scope = SessionScope::agent}).value();
  const auto other = open(agent("keyb"), {.scope = SessionScope::agent}).value();

  EXPECT_EQ(first.sandbox, again.sandbox);
  EXPECT_NE(first.sandbox, other.sandbox);
  EXPECT_EQ(open(agent("keyb"), {.scope = SessionScope::agent, .key = "keya"}).error().code(),
            Code::permission_denied);
}

TEST_F(SessionsTest, OfTheirOwnShareNothing) {
  world_.start();
  const auto first = open({}, {}).value();
  const auto second = open({}, {}).value();

  EXPECT_NE(first.sandbox, second.sandbox);
  ASSERT_TRUE(close({}, first.id));
  EXPECT_FALSE(world_.host().has(first.sandbox));
  EXPECT_TRUE(world_.host().has(second.sandbox));
}

TEST_F(SessionsTest, OfAnotherTenantAreElsewhere) {
  world_.start();
  const auto ours = open({}, workspace("web")).value();
  const auto theirs = open({.tenant = "other"}, workspace("web")).value();

  EXPECT_NE(ours.sandbox, theirs.sandbox);
  EXPECT_FALSE(world_.engine().get_session({.tenant = "other"}, ours.id));
  EXPECT_THAT(world_.engine().list_sessions({}), SizeIs(1));
}

TEST_F(SessionsTest, ThatNobodyRenewsEnd) {
  world_.start();
  const auto dead =
      open({}, {.scope = SessionScope::workspace, .key = "web", .ttl = seconds(60)}).value();
  const auto kept =
      open({}, {.scope = SessionScope::workspace, .key = "web", .ttl = seconds(60)}).value();

  pass(seconds(50));
  ASSERT_TRUE(world_.run(world_.engine().renew_session({}, kept.id, std::nullopt)));
  pass(seconds(10));
  EXPECT_FALSE(world_.engine().get_session({}, dead.id));
  EXPECT_EQ(world_.engine().get_session({}, kept.id)->holders, 1U);
  EXPECT_TRUE(world_.host().has(kept.sandbox));
  pass(seconds(50));

  EXPECT_FALSE(world_.host().has(kept.sandbox));
}

TEST_F(SessionsTest, KeepTheirSandboxAliveBeyondItsTime) {
  world_.start();
  CreateRequest request;
  request.ttl = seconds(100);
  const auto held =
      world_
          .run(world_.engine().open_session(
              {}, {.scope = SessionScope::workspace, .key = "web", .ttl = seconds(60)},
              std::move(request)))
          .value();

  for (int beat = 0; beat < 10; ++beat) {
    world_.advance(seconds(50));
    ASSERT_TRUE(world_.run(world_.engine().renew_session({}, held.id, std::nullopt)));
    world_.reap();
  }

  EXPECT_TRUE(world_.host().is_running(held.sandbox));
}

TEST_F(SessionsTest, TheLastOneMayLeaveItAtRestAndTheNextFindsItsFiles) {
  world_.start();
  for (const OnEnd end : {OnEnd::pause, OnEnd::stop}) {
    const auto first = open({}, workspace(end == OnEnd::pause ? "p" : "s"), end).value();
    world_.host().boxes.at(first.sandbox)->files["/workspace/kept"] = {.bytes = "mine"};
    ASSERT_TRUE(close({}, first.id));
    EXPECT_EQ(world_.state_of(first.sandbox), end == OnEnd::pause ? State::paused : State::stopped);

    const auto next = open({}, workspace(end == OnEnd::pause ? "p" : "s")).value();
    EXPECT_EQ(next.sandbox, first.sandbox);
    ASSERT_TRUE(world_.run(world_.engine().use({}, next.sandbox)));
    EXPECT_EQ(world_.exec(next.sandbox, {"cat", "/workspace/kept"}), "mine");
  }
}

TEST_F(SessionsTest, OpeningLeavesWhatSomebodyHasStopped) {
  world_.start();
  const auto first = open({}, workspace("web"), OnEnd::stop).value();
  ASSERT_TRUE(world_.run(world_.engine().stop({}, first.sandbox)));

  ASSERT_TRUE(open({}, workspace("web")));

  EXPECT_EQ(world_.state_of(first.sandbox), State::stopped);
}

TEST_F(SessionsTest, WhoDoesNotSayWhatBecomesOfItJoinsItAsItIs) {
  world_.start();
  const auto first = open({}, workspace("web"), OnEnd::stop).value();
  CreateRequest same, other;
  other.resources.memory_mb = 64;

  const auto joined =
      world_.run(world_.engine().open_session({}, workspace("web"), std::move(same)));
  const auto refused =
      world_.run(world_.engine().open_session({}, workspace("web"), std::move(other)));

  ASSERT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(joined->sandbox, first.sandbox);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("differs in: resources"));
}

TEST_F(SessionsTest, AKeyIsAsLongAsItsScopeLeavesRoom) {
  world_.start();

  EXPECT_TRUE(open({}, workspace(std::string(53, 'k'))));
  EXPECT_THAT(open({}, workspace(std::string(54, 'k'))).error().message(),
              HasSubstr("key: it has 1 to 53 of"));
  EXPECT_TRUE(open({}, {.scope = SessionScope::shared, .key = std::string(56, 'k')}));
  EXPECT_THAT(
      open({}, {.scope = SessionScope::shared, .key = std::string(57, 'k')}).error().message(),
      HasSubstr("key: it has 1 to 56 of"));
}

TEST_F(SessionsTest, AnotherRequestForTheSameWorkspaceIsRefusedInWords) {
  world_.start();
  ASSERT_TRUE(open({}, workspace("web"), OnEnd::stop));
  EXPECT_THAT(open({}, workspace("web"), OnEnd::pause).error().message(), HasSubstr("on_last"));

  world_.create_named("workspace-mine");
  EXPECT_THAT(open({}, workspace("mine")).error().message(), HasSubstr("no session made"));
  EXPECT_THAT(open({}, workspace("")).error().message(), HasSubstr("key: a workspace has a name"));
  EXPECT_THAT(open({}, workspace("No Name")).error().message(), HasSubstr("key: "));
  EXPECT_THAT(open({}, {.ttl = seconds(1)}).error().message(), HasSubstr("ttl_s: "));
}

TEST_F(SessionsTest, OfASandboxThatIsDestroyedAreForgotten) {
  world_.start();
  const auto held = open({}, workspace("web")).value();
  ASSERT_TRUE(world_.run(world_.engine().destroy({}, held.sandbox)));

  pass(seconds(1));

  EXPECT_THAT(world_.engine().list_sessions({}), IsEmpty());
}

TEST_F(SessionsTest, WhatCannotBeEndedNowIsEndedLater) {
  world_.start();
  const auto held = open({}, workspace("web"), OnEnd::pause).value();
  world_.host().fail("pause", Error(Code::unavailable, "busy"));

  ASSERT_TRUE(close({}, held.id));
  EXPECT_EQ(world_.state_of(held.sandbox), State::running);
  pass(seconds(1));

  EXPECT_EQ(world_.state_of(held.sandbox), State::paused);
}

TEST_F(SessionsTest, OfADriverThatHangsDoNotHoldUpTheOthers) {
  world_.add("second");
  world_.start();
  for (int i = 0; i < 5; ++i) {
    for (const char* driver : {"fake", "second"}) {
      ASSERT_TRUE(world_.run(
          world_.engine().open_session({}, {.ttl = seconds(60)}, CreateRequest{.driver = driver})));
    }
  }
  world_.host(0).hold("destroy");
  world_.advance(seconds(60));

  const auto step = world_.begin(world_.engine().end_sessions());

  EXPECT_FALSE(step.done());
  EXPECT_THAT(world_.host(1).ids(), IsEmpty());
  EXPECT_THAT(world_.host(0).ids(), SizeIs(5));
  world_.host(0).release("destroy");
  world_.settle();
  EXPECT_TRUE(step.done());
  EXPECT_THAT(world_.host(0).ids(), IsEmpty());
}

TEST_F(SessionsTest, AHundredEndInOneStep) {
  world_.start();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(world_.run(world_.engine().open_session({}, {.ttl = seconds(60)}, {})));

  pass(seconds(60));

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().list_sessions({}), IsEmpty());
}

class SessionsAfterCrashTest : public SessionsTest {
 protected:
  SessionsAfterCrashTest() : SessionsTest(EngineWorld::Keeps::file) {}
};

TEST_F(SessionsAfterCrashTest, TheCountsAreRight) {
  world_.start();
  const auto first = open(agent("a"), workspace("web")).value();
  const auto second = open(agent("b"), workspace("web")).value();

  world_.restart();
  EXPECT_EQ(world_.engine().get_session(agent("a"), first.id)->holders, 2U);
  EXPECT_TRUE(world_.engine().get(agent("b"), second.sandbox)) << "it holds it still";
  ASSERT_TRUE(close(agent("a"), first.id));
  world_.restart();
  EXPECT_TRUE(world_.host().is_running(second.sandbox));
  ASSERT_TRUE(close(agent("b"), second.id));

  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(SessionsAfterCrashTest, ThoseThatEndedMeanwhileLetGo) {
  world_.start();
  const auto held =
      open({}, {.scope = SessionScope::workspace, .key = "web", .ttl = seconds(60)}).value();

  world_.crash();
  world_.advance(seconds(61));
  world_.start();

  EXPECT_THAT(world_.engine().list_sessions({}), IsEmpty());
  EXPECT_FALSE(world_.host().has(held.sandbox));
}

TEST_F(SessionsAfterCrashTest, ADriverThatHangsDoesNotHoldUpTheStart) {
  world_.add("second");
  world_.start();
  for (const char* driver : {"fake", "second"}) {
    ASSERT_TRUE(world_.run(
        world_.engine().open_session({}, {.ttl = seconds(60)}, CreateRequest{.driver = driver})));
  }
  world_.crash();
  world_.advance(seconds(61));
  world_.host(0).hold("destroy");

  world_.start();

  EXPECT_THAT(world_.host(0).ids(), SizeIs(1));
  EXPECT_THAT(world_.host(1).ids(), IsEmpty());
  EXPECT_TRUE(world_.create({.driver = "second"}));
}

TEST_F(SessionsAfterCrashTest, LastAsLongHoweverTheWallsClockIsSet) {
  for (const auto step : {std::chrono::hours(1), std::chrono::hours(-48)}) {
    world_.start();
    const auto held =
        open({}, {.scope = SessionScope::workspace, .key = "web", .ttl = seconds(60)}).value();

    world_.crash();
    world_.clock.set_wall(world_.clock.wall() + step);
    world_.advance(seconds(59));
    world_.start();
    EXPECT_TRUE(world_.engine().get_session({}, held.id));
    EXPECT_TRUE(world_.host().is_running(held.sandbox));
    pass(seconds(1));

    EXPECT_FALSE(world_.engine().get_session({}, held.id));
    EXPECT_FALSE(world_.host().has(held.sandbox));
    world_.crash();
  }
}

TEST_F(SessionsAfterCrashTest, AfterARebootWhatIsLeftIsCountedOnTheWallsClock) {
  world_.start();
  const auto held =
      open({}, {.scope = SessionScope::workspace, .key = "web", .ttl = seconds(60)}).value();

  world_.crash();
  world_.options.boot_id = "boot-2";
  world_.clock.set_wall(world_.clock.wall() + seconds(50));
  world_.start();
  EXPECT_TRUE(world_.engine().get_session({}, held.id));
  pass(seconds(10));

  EXPECT_FALSE(world_.engine().get_session({}, held.id));
}

}  // namespace
}  // namespace atl
