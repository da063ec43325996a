#include "core/runs.h"

#include "core/engine_world_internal.h"
#include "core/profile_use.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunsTest : public ::testing::Test {
 protected:
  RunsTest() {
    world_.add();
    world_.start();
  }

  static ExecRequest command(std::vector<std::string> argv) {
    ExecRequest exec;
    exec.argv = std::move(argv);
    return exec;
  }
  Task<RunResult> run(std::vector<std::string> argv, std::string input = {},
                      std::shared_ptr<RunStop> stop = nullptr) {
    return world_.engine().run({}, {}, command(std::move(argv)), std::move(input), 1000,
                               std::move(stop));
  }

  EngineWorld world_;
};

TEST_F(RunsTest, ARunGivesItsOutputAndLeavesNothing) {
  const auto result = world_.run(run({"cat"}, "through"));

  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->exec.out, "through");
  EXPECT_EQ(result->driver, "fake");
  EXPECT_EQ(result->isolation, Isolation::container);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty());
  std::vector<std::string> stages;
  for (const auto& stage : result->stages) stages.push_back(stage.name);
  EXPECT_THAT(stages, ElementsAre("route", "intent", "create", "commit", "exec"));
}

TEST_F(RunsTest, TheAnswerDoesNotWaitForTheSandboxToBeClearedAway) {
  world_.host().hold("destroy");
  const auto result = world_.begin(run({"echo", "hi"}));

  ASSERT_TRUE(result.done());
  EXPECT_EQ(world_.host().ids().size(), 1U);
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty()) << "nobody sees it any more";
  world_.host().release("destroy");
  world_.settle();
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, TooManyThatAreToBeClearedAwayAreWaitedFor) {
  world_.host().hold("destroy");
  for (size_t i = 0; i < Runs::kMostTeardowns; ++i) EXPECT_TRUE(world_.begin(run({"true"})).done());

  const auto one_more = world_.begin(run({"true"}));
  EXPECT_FALSE(one_more.done());
  world_.host().release("destroy");
  world_.settle();

  EXPECT_TRUE(one_more.done());
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

// The pause is longer than any test may take, unless one waits for it.
class PausingRunsTest : public RunsTest {
 protected:
  void pause_for(Micros time) {
    world_.crash();
    world_.options.run_pause = time;
    world_.start();
  }
};

TEST_F(PausingRunsTest, WhatIsOverIsClearedAwayInAPause) {
  pause_for(Millis(1));
  ASSERT_TRUE(world_.run(run({"true"})));
  ASSERT_TRUE(world_.run(run({"true"})));

  world_.wait_until([&] { return world_.host().ids().empty(); });
  EXPECT_EQ(world_.host().count("destroy"), 2U);
}

TEST_F(PausingRunsTest, WithoutAPauseTheOldestGoFirst) {
  pause_for(std::chrono::hours(1));
  for (size_t i = 0; i < Runs::kMostOver; ++i) ASSERT_TRUE(world_.run(run({"true"})));
  const auto waiting = world_.host().ids();
  ASSERT_EQ(waiting.size(), Runs::kMostOver) << "no pause has come";

  ASSERT_TRUE(world_.run(run({"true"})));
  world_.settle();

  const auto left = world_.host().ids();
  EXPECT_EQ(left.size(), Runs::kMostOver);
  EXPECT_EQ(world_.host().count("destroy"), 1U);
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty()) << "nobody sees any of them";
}

TEST_F(RunsTest, ARunThatTakesItsTimeIsWrittenDownUntilItIsOver) {
  const auto pending = [&] { return world_.run(world_.store().load()).value().pending.size(); };
  const auto stop = std::make_shared<RunStop>();
  const auto result = world_.begin(run({"sleep"}, "", stop));
  EXPECT_EQ(pending(), 0U) << "most are over before the ink would be dry";

  world_.wait_until([&] { return pending() == 1; });

  stop->stop();
  world_.wait_until([&] { return result.done() && pending() == 0; });
}

TEST_F(RunsTest, ANameIsFreeAgainWhenTheAnswerComes) {
  world_.host().hold("destroy");
  CreateRequest request;
  request.name = "mine";
  const auto result =
      world_.begin(world_.engine().run({}, std::move(request), command({"true"}), "", 1000));

  EXPECT_FALSE(result.done());
  world_.host().release("destroy");
  world_.settle();
  EXPECT_TRUE(result.done());
}

TEST(ProfiledRuns, WhatAProfileSaysOfSandboxesThatWaitIsNotTheRuns) {
  EngineWorld world;
  world.add();
  const std::vector<policy::ProfileText> texts{
      {"t.yaml", "profiles:\n  a: {on_idle: stop, idle: 1h, on_expire: stop, keep: 1h}\n"}};
  world.options.profiles = policy::Profiles::load(texts).value();
  world.start();
  const auto ask = [&](std::optional<OnEnd> on_idle) {
    CreateRequest request;
    request.profile = "a";
    request.on_idle = on_idle;
    // As the API does.
    merge_profile(request, world.options.profiles->get("a").value()->profile);
    ExecRequest exec;
    exec.argv = {"true"};
    return world.run(world.engine().run({}, std::move(request), std::move(exec), "", 1000));
  };

  EXPECT_TRUE(ask(std::nullopt));
  const auto refused = ask(OnEnd::pause);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("a run's sandbox ends"));
}

TEST_F(RunsTest, TheProgramsOwnExitCodeIsTheResult) {
  EXPECT_EQ(world_.run(run({"exit", "7"}))->exec.status.exit_code, 7);
}

TEST_F(RunsTest, ARunWithoutACommandMakesNoSandbox) {
  const auto result = world_.run(run({}));

  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  EXPECT_EQ(world_.host().count("create"), 0U);
}

TEST_F(RunsTest, AFailedExecLeavesNothing) {
  const auto result = world_.begin(run({"sleep"}));
  ASSERT_FALSE(result.done());

  world_.host().end(world_.host().ids().at(0), EndedBy::death);
  world_.settle();

  ASSERT_TRUE(result.done());
  EXPECT_EQ(result.get().error().stage(), "exec");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, StoppingARunDestroysItAtOnce) {
  const auto stop = std::make_shared<RunStop>();
  const auto result = world_.begin(run({"sleep"}, "", stop));
  ASSERT_FALSE(result.done());

  stop->stop();
  world_.settle();

  ASSERT_TRUE(result.done());
  EXPECT_EQ(result.get().error().code(), Code::cancelled);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, ARunWhoseCallerGoesAwayIsDestroyedAtOnce) {
  asio::cancellation_signal cancel;
  const auto result = world_.begin(run({"sleep"}), cancel);
  ASSERT_EQ(world_.host().ids().size(), 1U);

  cancel.emit(asio::cancellation_type::all);
  world_.settle();

  EXPECT_EQ(result.get().error().code(), Code::cancelled);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, ARunThatIsStoppedWhileItIsMadeIsNeverExecuted) {
  const auto stop = std::make_shared<RunStop>();
  world_.host().hold("create");
  const auto result = world_.begin(run({"sleep"}, "", stop));

  stop->stop();
  world_.host().release("create");
  world_.settle();

  ASSERT_TRUE(result.done());
  EXPECT_EQ(result.get().error().code(), Code::cancelled);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, ARunThatIsStoppedWhileItsImageIsFetchedWaitsForNothing) {
  const auto stop = std::make_shared<RunStop>();
  world_.host().fetches = true;
  world_.host().hold("fetch");
  const auto result = world_.begin(run({"true"}, "", stop));
  EXPECT_FALSE(stop->is_made());

  stop->stop();
  world_.settle();

  ASSERT_TRUE(result.done());
  EXPECT_EQ(result.get().error().code(), Code::cancelled);
  EXPECT_EQ(world_.host().count("create"), 0U);
}

TEST_F(RunsTest, ARunEndsAtItsTimeToLive) {
  CreateRequest request;
  request.ttl = seconds(5);
  const auto result =
      world_.begin(world_.engine().run({}, std::move(request), command({"sleep"}), "", 1000));

  world_.advance(seconds(5));
  world_.reap();

  ASSERT_TRUE(result.done());
  EXPECT_EQ(result.get().error().code(), Code::deadline_exceeded);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, ARunIsNotIdleWhileItRuns) {
  CreateRequest request;
  request.idle = seconds(5);
  const auto result =
      world_.begin(world_.engine().run({}, std::move(request), command({"sleep"}), "", 1000));

  world_.advance(seconds(60));
  world_.reap();

  EXPECT_FALSE(result.done());
}

TEST_F(RunsTest, TheNameOfARunMustBeFree) {
  world_.create_named("web");
  CreateRequest request;
  request.name = "web";

  const auto result =
      world_.run(world_.engine().run({}, std::move(request), command({"true"}), "", 1000));

  EXPECT_EQ(result.error().code(), Code::already_exists);
}

TEST_F(RunsTest, ARunWhoseSandboxCannotBeDestroyedStillGivesItsResult) {
  world_.host().fail("destroy", Error(Code::unavailable, "busy"));

  const auto result = world_.run(run({"echo", "hi"}));
  world_.sweep();

  EXPECT_EQ(result->exec.out, "hi\n");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, ShuttingDownEndsRuns) {
  const auto result = world_.begin(run({"sleep"}));

  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::leave_sandboxes)));

  EXPECT_TRUE(result.done());
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

class Witness final : public RunObserver {
 public:
  Task<> on_started(SandboxView view, std::shared_ptr<Process> started) override {
    id = view.id;
    process = std::move(started);
    co_return Result<>();
  }
  Task<> on_event(ProcessEvent event) override {
    if (refuses) co_return Error(Code::cancelled, "the client is gone");
    if (auto* output = std::get_if<Output>(&event)) out += output->bytes;
    if (std::holds_alternative<ExitStatus>(event)) ended = true;
    co_return Result<>();
  }

  std::string id;
  std::shared_ptr<Process> process;
  std::string out;
  bool ended = false;
  bool refuses = false;
};

TEST_F(RunsTest, AnObserverSeesEverythingAsItHappens) {
  const auto witness = std::make_shared<Witness>();
  ExecRequest exec = command({"cat"});
  exec.stdin_mode = StdinMode::open;
  const auto result = world_.begin(world_.engine().run({}, {}, std::move(exec), "", witness));
  ASSERT_TRUE(witness->process);
  auto guest = world_.engine().guest({}, witness->id).value();
  auto other_way = world_.run(guest->attach(witness->process->id(), {})).value();

  ASSERT_TRUE(world_.run(other_way->write_stdin("typed")));
  world_.settle();
  EXPECT_EQ(witness->out, "typed");
  EXPECT_FALSE(result.done());
  ASSERT_TRUE(world_.run(witness->process->close_stdin()));
  world_.settle();

  ASSERT_TRUE(result.done());
  EXPECT_TRUE(witness->ended);
  EXPECT_EQ(result.get()->exec.status.exit_code, 0);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(RunsTest, AnObserverThatRefusesEndsTheRun) {
  const auto witness = std::make_shared<Witness>();
  witness->refuses = true;

  const auto result = world_.run(world_.engine().run({}, {}, command({"echo", "x"}), "", witness));

  EXPECT_EQ(result.error().code(), Code::cancelled);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

// Counts what reaches the store, and how.
class CountingStore final : public store::Store {
 public:
  CountingStore(std::unique_ptr<store::Store> inner, int& awaited, int& disk)
      : inner_(std::move(inner)), awaited_(awaited), disk_(disk) {}

  Task<store::Contents> load() override { return inner_->load(); }
  Task<std::optional<store::SandboxRow>> find_sandbox(std::string id) override {
    return inner_->find_sandbox(std::move(id));
  }
  Task<> commit(store::Transaction transaction) override {
    ++awaited_;
    if (transaction.durability == store::Durability::disk) ++disk_;
    return inner_->commit(std::move(transaction));
  }
  void enqueue(store::Transaction transaction, store::OnCommitted on_done) override {
    if (transaction.durability == store::Durability::disk) ++disk_;
    inner_->enqueue(std::move(transaction), std::move(on_done));
  }

 private:
  std::unique_ptr<store::Store> inner_;
  int& awaited_;
  int& disk_;
};

TEST(RunCost, NothingIsWaitedForAndNeverTheDisk) {
  int awaited = 0;
  int disk = 0;
  EngineWorld world;
  world.add();
  world.wrap_store = [&](std::unique_ptr<store::Store> inner) {
    return std::make_unique<CountingStore>(std::move(inner), awaited, disk);
  };
  world.start();
  awaited = disk = 0;

  ExecRequest exec;
  exec.argv = {"true"};
  ASSERT_TRUE(world.run(world.engine().run({}, {}, std::move(exec), "", 1000)));

  EXPECT_EQ(awaited, 0);
  EXPECT_EQ(disk, 0);
}

TEST(RunCost, WhatIsNotOnThisHostWaitsForTheDisk) {
  int awaited = 0;
  int disk = 0;
  EngineWorld world;
  world.add("remote").capabilities.placement = Placement::own;
  world.wrap_store = [&](std::unique_ptr<store::Store> inner) {
    return std::make_unique<CountingStore>(std::move(inner), awaited, disk);
  };
  world.start();
  awaited = disk = 0;

  ASSERT_TRUE(world.create());

  EXPECT_EQ(awaited, 2);
  EXPECT_EQ(disk, 2);
}

}  // namespace
}  // namespace atl
