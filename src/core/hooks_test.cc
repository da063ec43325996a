#include "core/hooks.h"

#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HooksTest : public ::testing::Test {
 protected:
  HooksTest() : world_(EngineWorld::Keeps::file) {
    Capabilities& can = world_.add().capabilities;
    can.reset = can.fork = can.snapshot = can.checkpoint = true;
    can.pause = Pause::processes;
    world_.options.pulse_patience = Millis(1);
  }

  void set_profile(const std::string& hooks) {
    const std::vector<policy::ProfileText> texts{
        {"t.yaml", "profiles:\n  p: {hooks: {" + hooks + "}}\n"}};
    auto loaded = policy::Profiles::load(texts);
    ASSERT_TRUE(loaded) << loaded.error().message();
    world_.options.profiles = *std::move(loaded);
  }
  void start(const std::string& hooks) {
    set_profile(hooks);
    world_.start();
  }
  static CreateRequest request() {
    CreateRequest request;
    request.profile = "p";
    request.files = {{"mark", "x"}};
    return request;
  }
  std::string create() {
    auto made = world_.create(request());
    EXPECT_TRUE(made) << made.error().message();
    return made ? made->id : "";
  }
  Result<SandboxView> stop(const std::string& id) {
    return world_.run(world_.engine().stop({}, id));
  }
  // What a stage has told; "-" when there is none, "" when it told nothing.
  static std::string said(const std::vector<Stage>& stages, std::string_view name) {
    std::string found = "-";
    for (const Stage& stage : stages) {
      if (stage.name != name) continue;
      EXPECT_EQ(found, "-") << name << " is there twice";
      found = stage.log.value_or("");
    }
    return found;
  }
  // The same of one that has ended.
  std::string said_at_end(const std::string& id, std::string_view name) {
    return said(world_.run(world_.engine().start_record({}, id)).value().stages, name);
  }
  std::shared_ptr<FakeBox> box(const std::string& id) { return world_.host().boxes.at(id); }

  EngineWorld world_;
};

TEST_F(HooksTest, WhatIsSaidAfterAStartIsInItsRecord) {
  start("after_start: [echo one, 'true', echo two]");

  const auto made = world_.create(request());

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(said(made->stages, "after_start"), "one; two");
  world_.restart();
  EXPECT_EQ(said(world_.engine().get({}, made->id)->stages, "after_start"), "one; two");
}

TEST_F(HooksTest, OneThatFailsAfterTheStartFailsTheCreate) {
  start("after_start: ['true', cat nowhere, 'true']");

  const auto refused = world_.create(request());

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().stage(), "after_start");
  EXPECT_THAT(refused.error().message(),
              HasSubstr("after_start: hook 2: sh: cat: nowhere: no such file"));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(HooksTest, OneThatTakesTooLongFailsTheCreate) {
  start("after_start: {run: sleep 9, timeout: 2s}");

  EXPECT_EQ(world_.create(request()).error().code(), Code::deadline_exceeded);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(HooksTest, BeforeAStopItIsAskedAndStopsWhateverItSays) {
  start("before_stop: [echo saved, cat nowhere]");
  const auto id = create();

  const auto stopped = stop(id);

  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_EQ(stopped->state, State::stopped);
  EXPECT_FALSE(box(id)->running);
  EXPECT_THAT(said(stopped->stages, "before_stop"), HasSubstr("hook 2: sh: cat: nowhere"));
}

TEST_F(HooksTest, APausedOneIsAskedToo) {
  start("before_stop: echo saved");
  const auto id = create();
  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));

  EXPECT_EQ(said(stop(id).value().stages, "before_stop"), "saved");
}

TEST_F(HooksTest, EveryStartHasItsHooks) {
  start("after_start: cat mark");
  const auto id = create();
  ASSERT_TRUE(stop(id));
  box(id)->files.at("/workspace/mark").bytes = "again";

  const auto started = world_.run(world_.engine().start({}, id));
  ASSERT_TRUE(started) << started.error().message();
  EXPECT_EQ(said(started->stages, "after_start"), "again");

  box(id)->files.erase("/workspace/mark");
  const auto failed = world_.run(world_.engine().recreate({}, id));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().stage(), "after_start");
  EXPECT_FALSE(box(id)->running) << "what its hooks could not make ready does not run";

  const auto refused = world_.run(world_.engine().start({}, id));
  ASSERT_FALSE(refused);
  box(id)->files["/workspace/mark"] = {.bytes = "there"};
  EXPECT_TRUE(world_.run(world_.engine().start({}, id)));
}

TEST_F(HooksTest, ARecreationStopsAndStarts) {
  start("before_stop: echo bye, after_start: echo hello");
  const auto id = create();

  const auto recreated = world_.run(world_.engine().recreate({}, id));

  ASSERT_TRUE(recreated) << recreated.error().message();
  EXPECT_EQ(said(recreated->stages, "before_stop"), "bye");
  EXPECT_EQ(said(recreated->stages, "after_start"), "hello");
}

TEST_F(HooksTest, ARemovalAndAResetAskFirst) {
  start("before_stop: echo bye");
  const auto id = create();
  const auto reset = world_.run(world_.engine().reset({}, id, {}));
  ASSERT_TRUE(reset) << reset.error().message();
  EXPECT_EQ(said(reset->stages, "before_stop"), "bye");

  const auto other = create();
  ASSERT_TRUE(world_.run(world_.engine().destroy({}, other)));
  EXPECT_EQ(said_at_end(other, "before_stop"), "bye");
}

TEST_F(HooksTest, AStoppedOneIsNotAskedAgain) {
  start("before_stop: cat mark");
  const auto id = create();
  ASSERT_TRUE(stop(id));
  box(id)->files.at("/workspace/mark").bytes = "later";

  ASSERT_TRUE(world_.run(world_.engine().destroy({}, id)));

  EXPECT_EQ(said_at_end(id, "before_stop"), "x");
}

TEST_F(HooksTest, OneWhoseTimeIsUpIsAskedAndItsDriverLeavesItTheTime) {
  start("before_stop: [echo bye, {run: 'true', timeout: 15s}]");
  auto asked = request();
  asked.ttl = seconds(60);
  const auto made = world_.create(std::move(asked)).value();
  EXPECT_EQ(box(made.id)->spec.expires_at, world_.clock.boot() + seconds(60 + 30 + 15));

  world_.advance(seconds(61));
  world_.reap();
  world_.wait_until([&] { return world_.host().ids().empty(); });

  EXPECT_EQ(said_at_end(made.id, "before_stop"), "bye");
}

TEST_F(HooksTest, OneThatNeverAnswersIsNotWaitedFor) {
  start("before_stop: {run: hang, timeout: 1ms}");
  const auto id = create();

  ASSERT_TRUE(world_.run(world_.engine().destroy({}, id)));

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(said_at_end(id, "before_stop"), "the sandbox does not answer");
}

TEST_F(HooksTest, ARunHasBoth) {
  start("after_start: echo hello, before_stop: echo bye");

  const auto ran = world_.run(world_.engine().run(
      {}, request(), ExecRequest{.argv = {"echo", "hi"}}, "", 1000, std::make_shared<RunStop>()));

  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_EQ(ran->exec.out, "hi\n");
  EXPECT_EQ(said(ran->stages, "after_start"), "hello");
  EXPECT_EQ(said(ran->stages, "before_stop"), "bye");
}

TEST_F(HooksTest, AForkOfFilesStartsAndOneOfMemoryGoesOn) {
  start("after_start: echo hello");
  const auto id = create();

  const auto files = world_.run(world_.engine().fork({}, id, 1, SnapshotKind::disk));
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_EQ(said(files->at(0).stages, "after_start"), "hello");
  const auto memory = world_.run(world_.engine().fork({}, id, 1, SnapshotKind::memory));
  ASSERT_TRUE(memory) << memory.error().message();
  EXPECT_EQ(said(memory->at(0).stages, "after_start"), "-");
}

TEST_F(HooksTest, AStartThatADaemonDiedInIsUndone) {
  start("after_start: 'true'");
  const auto id = create();
  ASSERT_TRUE(stop(id));
  set_profile("after_start: hang");
  world_.restart();
  const auto pending = world_.begin(world_.engine().start({}, id));
  world_.wait_until([&] { return world_.host().is_running(id); });
  ASSERT_FALSE(pending.done());

  world_.restart();

  EXPECT_EQ(world_.state_of(id), State::stopped);
  EXPECT_FALSE(world_.host().is_running(id));
}

TEST_F(HooksTest, AProfileThatIsGoneKeepsItFromStartingAndNotFromStopping) {
  start("after_start: 'true', before_stop: 'true'");
  const auto id = create();
  world_.options.profiles = nullptr;
  world_.restart();

  const auto stopped = stop(id);
  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_THAT(said(stopped->stages, "before_stop"), HasSubstr("no profile is called p"));
  const auto refused = world_.run(world_.engine().start({}, id));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("no profile is called p"));
  EXPECT_FALSE(world_.host().is_running(id));
}

}  // namespace
}  // namespace atl
