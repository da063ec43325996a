#include "core/startup.h"

#include "base/refusal.h"
#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StartupTest : public ::testing::Test {
 protected:
  explicit StartupTest(EngineWorld::Keeps keeps = EngineWorld::Keeps::memory) : world_(keeps) {
    world_.add().capabilities.reset = true;
  }

  void start(const std::string& profile) {
    const std::vector<policy::ProfileText> texts{{"t.yaml", "profiles:\n  p: " + profile + "\n"}};
    auto loaded = policy::Profiles::load(texts);
    ASSERT_TRUE(loaded) << loaded.error().message();
    world_.options.profiles = *std::move(loaded);
    world_.start();
  }
  static CreateRequest request() {
    CreateRequest request;
    request.profile = "p";
    return request;
  }
  std::vector<std::string> stages_of(const SandboxView& view) {
    std::vector<std::string> names;
    for (const auto& stage : view.stages) {
      if (stage.name == "setup" || stage.name == "requires" || stage.name == "readiness")
        names.push_back(stage.name);
    }
    return names;
  }
  Error failure_of(const std::string& profile) {
    start(profile);
    auto refused = world_.create(request());
    EXPECT_FALSE(refused) << profile;
    EXPECT_THAT(world_.host().ids(), IsEmpty()) << profile;
    return refused ? Error(Code::internal, "") : refused.error();
  }

  EngineWorld world_;
};

TEST_F(StartupTest, EachPartIsAStage) {
  start("{setup: [echo one, 'true'], requires: [git, python>=3.11], readiness: 'true'}");

  const auto made = world_.create(request());

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(stages_of(*made), ElementsAre("setup", "requires", "readiness"));
  std::vector<std::string> logs;
  for (const auto& stage : made->stages) {
    if (stage.log) logs.push_back(stage.name + ": " + *stage.log);
  }
  EXPECT_THAT(logs, ElementsAre("route: fake, the only one that will do", "setup: 2 done",
                                "requires: found git, python>=3.11",
                                "readiness: the command says yes, question 1"));
  EXPECT_EQ(made->state, State::running);
}

TEST_F(StartupTest, RunsGetItToo) {
  start("{requires: [git]}");

  const auto ran = world_.run(world_.engine().run(
      {}, request(), ExecRequest{.argv = {"echo", "hi"}}, "", 1000, std::make_shared<RunStop>()));

  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_THAT(ran->stages, testing::Contains(testing::Field(&Stage::name, "requires")));
}

TEST_F(StartupTest, AStepThatFailsIsToldAndNothingIsLeft) {
  const Error failure = failure_of("{setup: ['true', cat nowhere, 'true']}");

  EXPECT_EQ(failure.stage(), "setup");
  EXPECT_THAT(failure.message(), HasSubstr("setup: step 2: sh: cat: nowhere: no such file"));
}

TEST_F(StartupTest, AStepThatDoesNotEndIsEnded) {
  const Error failure = failure_of("{setup: [{run: sleep 9, timeout: 2s}]}");

  EXPECT_EQ(failure.code(), Code::deadline_exceeded);
  EXPECT_THAT(failure.message(), HasSubstr("step 1: sh: it did not end within 2 seconds"));
}

TEST_F(StartupTest, WhatIsRequiredMustBeThere) {
  const Error failure = failure_of("{requires: [git, hg]}");

  EXPECT_EQ(failure.code(), Code::unsupported);
  EXPECT_EQ(failure.stage(), "requires");
  EXPECT_THAT(failure.message(), HasSubstr("requires: hg: the sandbox has none"));
  EXPECT_THAT(failure.hint(), HasSubstr("image or a template"));
}

TEST_F(StartupTest, WhatIsRequiredMustBeNewEnough) {
  EXPECT_THAT(failure_of("{requires: [python>=3.12]}").message(),
              HasSubstr("requires: python>=3.12: the sandbox has 3.11.2"));
}

TEST_F(StartupTest, WhoIsNeverReadyIsGivenUp) {
  const Error failure = failure_of("{readiness: {run: exit 3, interval: 10ms, timeout: 9ms}}");

  EXPECT_EQ(failure.code(), Code::deadline_exceeded);
  EXPECT_EQ(failure.stage(), "readiness");
  EXPECT_THAT(failure.message(), HasSubstr("not ready within 9 ms: the command ends with 3"));
}

TEST_F(StartupTest, TheErrorHasTheWholeStartAndSoHasTheRecord) {
  const Error failure = failure_of("{requires: [git], readiness: {run: exit 3, timeout: 9ms}}");

  ASSERT_TRUE(failure.refusal());
  const Refusal& told = *failure.refusal();
  EXPECT_THAT(told.sandbox, testing::StartsWith("sbx"));
  std::vector<std::string> names;
  for (const auto& stage : told.stages) names.push_back(stage.name);
  EXPECT_THAT(names, ElementsAre("route", "intent", "create", "requires", "readiness"));
  EXPECT_THAT(told.stages.back().log.value_or(""), HasSubstr("the command ends with 3"));
  const auto record = world_.run(world_.engine().start_record({}, told.sandbox));
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->state, State::failed);
  EXPECT_EQ(record->stages.size(), told.stages.size());
}

TEST_F(StartupTest, ARefusalOfTheRouterIsAStartThatFailed) {
  start("{min_isolation: vm}");

  const auto refused = world_.create(request());

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().stage(), "route");
  ASSERT_TRUE(refused.error().refusal());
  const Refusal& told = *refused.error().refusal();
  ASSERT_EQ(told.stages.size(), 1U);
  EXPECT_EQ(told.stages.front().name, "route");
  EXPECT_THAT(told.stages.front().log.value_or(""),
              HasSubstr("fake offers container, vm was asked"));
  const auto record = world_.run(world_.engine().start_record({}, told.sandbox));
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->state, State::failed);
  EXPECT_EQ(record->driver, "");
  EXPECT_THAT(record->failure, HasSubstr("no driver can serve this request"));
  Caller other;
  other.tenant = "other";
  EXPECT_FALSE(world_.run(world_.engine().start_record(other, told.sandbox)));
  EXPECT_TRUE(world_.engine().list({}, {})->sandboxes.empty());
}

TEST_F(StartupTest, APortNeedsADriverThatReachesIt) {
  const Error failure = failure_of("{readiness: {port: 80}}");

  EXPECT_EQ(failure.code(), Code::unsupported);
  EXPECT_EQ(failure.stage(), "readiness");
}

TEST_F(StartupTest, CommandsRunWhereTheProfileSays) {
  const Error failure = failure_of("{workdir: /srv, readiness: {run: whoami fails, timeout: 1ms}}");

  EXPECT_THAT(failure.message(), HasSubstr("user in /srv"));
}

TEST_F(StartupTest, AResetDoesItAgain) {
  start("{setup: [cat kept], requires: [git]}");
  auto asked = request();
  asked.files = {{"kept", "x"}};
  const auto made = world_.create(std::move(asked));
  ASSERT_TRUE(made) << made.error().message();

  // Its files came from the first request, and are not there any more.
  const auto reset = world_.run(world_.engine().reset({}, made->id, {}));

  ASSERT_FALSE(reset);
  EXPECT_EQ(reset.error().stage(), "setup");
  EXPECT_THAT(reset.error().message(), HasSubstr("cat: kept: no such file"));
  EXPECT_EQ(world_.engine().get({}, made->id)->state, State::failed);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(StartupTest, AResetHasTheEnvironmentOfTheProfileAndNotThatOfTheRequest) {
  start("{env: {X: '1', Y: '2'}, home: /home/user, setup: ['true']}");
  auto asked = request();
  asked.env = {{"Y", "mine"}, {"TOKEN", "secret"}};
  const auto made = world_.create(std::move(asked));
  ASSERT_TRUE(made) << made.error().message();

  const auto reset = world_.run(world_.engine().reset({}, made->id, {{"X", "new"}}));

  ASSERT_TRUE(reset) << reset.error().message();
  EXPECT_EQ(world_.host().boxes.at(made->id)->spec.env,
            (std::map<std::string, std::string>{{"HOME", "/home/user"}, {"X", "new"}, {"Y", "2"}}));
}

TEST_F(StartupTest, AResetHasTheVersionOfTheProfileThatTheSandboxHas) {
  const auto known = [](const std::string& text) {
    const std::vector<policy::ProfileText> texts{{"t.yaml", "profiles:\n" + text}};
    return policy::Profiles::load(texts).value();
  };
  world_.options.profiles = known("  p: {env: {X: '1'}}\n  p@2: {env: {X: '2'}}\n");
  world_.start();
  auto older = request();
  older.profile = "p@1";
  const auto made = world_.create(std::move(older));
  ASSERT_TRUE(made) << made.error().message();

  ASSERT_TRUE(world_.run(world_.engine().reset({}, made->id, {})));

  EXPECT_EQ(world_.host().boxes.at(made->id)->spec.env.at("X"), "1");
}

class InterruptedStartupTest : public StartupTest {
 protected:
  InterruptedStartupTest() : StartupTest(EngineWorld::Keeps::file) {}
};

TEST_F(InterruptedStartupTest, HalfAStartIsUndoneAfterACrash) {
  start("{setup: [hang]}");
  auto asked = request();
  asked.name = "dev";
  const auto pending = world_.begin(world_.engine().create({}, std::move(asked), {}));
  world_.wait_until([&] { return !world_.host().ids().empty(); });
  ASSERT_FALSE(pending.done());

  world_.restart();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_FALSE(world_.engine().get({}, "dev"));
}

TEST_F(InterruptedStartupTest, AResetAfterARestartHasTheEnvironmentOfTheProfile) {
  start("{env: {X: '1'}, on_failure: recreate}");
  auto asked = request();
  asked.env = {{"TOKEN", "secret"}};
  const auto made = world_.create(std::move(asked));
  ASSERT_TRUE(made) << made.error().message();
  world_.restart();
  world_.host().end(made->id, EndedBy::death);
  world_.advance(std::chrono::seconds(1));
  world_.reap();
  // The request's values are known to nobody, so it is not made anew by itself.
  ASSERT_EQ(world_.engine().get({}, made->id)->state, State::failed);
  EXPECT_THAT(world_.engine().get({}, made->id)->failure, HasSubstr("are not known since"));

  const auto reset = world_.run(world_.engine().reset({}, made->id, {}));

  ASSERT_TRUE(reset) << reset.error().message();
  const std::map<std::string, std::string> profiles{{"X", "1"}};
  EXPECT_EQ(world_.host().boxes.at(made->id)->spec.env, profiles);
  // Now all of it is known.
  world_.host().end(made->id, EndedBy::death);
  world_.advance(std::chrono::seconds(1));
  world_.reap();
  EXPECT_EQ(world_.engine().get({}, made->id)->state, State::running);
  EXPECT_EQ(world_.host().boxes.at(made->id)->spec.env, profiles);
}

TEST_F(InterruptedStartupTest, AResetWithoutItsProfileDoesNotLoseTheEnvironment) {
  start("{env: {X: '1'}}");
  const auto made = world_.create(request());
  ASSERT_TRUE(made) << made.error().message();
  world_.options.profiles = nullptr;
  world_.restart();

  const auto refused = world_.run(world_.engine().reset({}, made->id, {}));
  const auto state = world_.state_of(made->id);
  const auto given = world_.run(world_.engine().reset({}, made->id, {{"X", "3"}}));

  EXPECT_EQ(refused.error().code(), Code::not_found);
  EXPECT_THAT(refused.error().hint(), HasSubstr("may have given: X"));
  EXPECT_EQ(state, State::running) << "nothing was begun";
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_EQ(world_.host().boxes.at(made->id)->spec.env.at("X"), "3");
}

}  // namespace
}  // namespace atl
