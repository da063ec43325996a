// What the engine promises about sandboxes that die or do not answer.
#include "core/healing.h"

#include <fcntl.h>

#include "core/engine_world_internal.h"
#include "core/event_log.h"
#include "core/pulse.h"
#include "os/file.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class HealingTest : public ::testing::Test {
 protected:
  explicit HealingTest(EngineWorld::Keeps keeps = EngineWorld::Keeps::memory) : world_(keeps) {
    world_.add().capabilities.reset = true;
    world_.options.pulse_patience = Millis(5);
  }

  std::string make(OnFailure on_failure, std::map<std::string, std::string> env = {}) {
    CreateRequest request;
    request.on_failure = on_failure;
    request.ttl = std::chrono::hours(24);
    request.env = std::move(env);
    return world_.create(std::move(request)).value().id;
  }
  void pass(seconds time) {
    world_.advance(time);
    world_.reap();
  }
  SandboxView view(const std::string& id) { return world_.engine().get({}, id).value(); }
  void feel(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      world_.advance(world_.options.pulse_every);
      ASSERT_TRUE(world_.run(world_.engine().feel_pulses()));
    }
  }
  std::vector<std::string> health_events() {
    std::vector<std::string> words;
    for (const auto& event : world_.engine().events().after(0, 1000).events) {
      if (event->health) words.emplace_back(json::name_of(*event->health));
    }
    return words;
  }

  EngineWorld world_;
};

TEST_F(HealingTest, ADeadSandboxIsMadeAnewUnderItsIdWithItsEnvironment) {
  world_.start();
  const auto id = make(OnFailure::recreate, {{"TOKEN", "x"}});

  world_.host().end(id, EndedBy::death);
  EXPECT_EQ(view(id).state, State::failed);
  EXPECT_EQ(view(id).health, Health::recovering);
  pass(seconds(1));

  EXPECT_EQ(view(id).state, State::running);
  EXPECT_EQ(view(id).health, Health::ok);
  EXPECT_EQ(view(id).recoveries, 1);
  EXPECT_EQ(view(id).resets, 0) << "tokens for it stay valid";
  EXPECT_EQ(world_.host().boxes.at(id)->spec.env.at("TOKEN"), "x");
  EXPECT_EQ(world_.exec(id, {"echo", "hello"}), "hello\n");
}

TEST_F(HealingTest, WithoutTheWordItStaysFailed) {
  world_.start();
  const auto id = make(OnFailure::fail);

  world_.host().end(id, EndedBy::death);
  pass(seconds(600));

  EXPECT_EQ(view(id).state, State::failed);
  EXPECT_EQ(view(id).health, Health::failed);
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(HealingTest, TriesComeLaterAndLaterAndEnd) {
  world_.start();
  const auto id = make(OnFailure::recreate);
  world_.host().fail("create", Error(Code::unavailable, "no room"), 100);
  world_.host().end(id, EndedBy::death);

  for (const int pause : {1, 4, 16, 64, 256}) {
    const size_t before = world_.host().count("create");
    pass(seconds(pause - 1));
    EXPECT_EQ(world_.host().count("create"), before) << pause;
    pass(seconds(1));
    EXPECT_EQ(world_.host().count("create"), before + 1) << pause;
  }
  EXPECT_EQ(view(id).health, Health::failed);
  EXPECT_THAT(view(id).failure, HasSubstr("given up after 5 tries"));
  pass(seconds(3000));

  EXPECT_EQ(world_.host().count("create"), 6U);
  EXPECT_EQ(view(id).recoveries, 0);
}

TEST_F(HealingTest, OneThatHasLivedForAWhileHasAllItsTriesAgain) {
  world_.start();
  const auto id = make(OnFailure::recreate);
  for (int death = 0; death < 8; ++death) {
    world_.host().end(id, EndedBy::death);
    pass(seconds(1));
    ASSERT_EQ(view(id).state, State::running) << death;
    world_.advance(kForgetRecoveriesAfter);
  }
  EXPECT_EQ(view(id).recoveries, 8);
}

TEST_F(HealingTest, OneThatDiesOfWhatIsInItIsGivenUp) {
  world_.start();
  const auto id = make(OnFailure::recreate);
  for (int death = 0; death < 5; ++death) {
    world_.host().end(id, EndedBy::death);
    pass(seconds(300));
    ASSERT_EQ(view(id).state, State::running) << death;
  }

  world_.host().end(id, EndedBy::death);
  pass(seconds(300));

  EXPECT_EQ(view(id).state, State::failed);
  EXPECT_EQ(view(id).health, Health::failed);
}

TEST_F(HealingTest, WhoeverDestroysItEndsTheTries) {
  world_.start();
  const auto id = make(OnFailure::recreate);
  world_.host().end(id, EndedBy::death);

  ASSERT_TRUE(world_.run(world_.engine().destroy({}, id)));
  pass(seconds(10));

  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(HealingTest, OneThatDoesNotAnswerIsNoticedAndOneThatAnswersAgainIsWell) {
  world_.start();
  const auto id = make(OnFailure::fail);
  world_.host().boxes.at(id)->silent = true;

  feel(2);
  EXPECT_EQ(view(id).health, Health::ok);
  feel(1);
  EXPECT_EQ(view(id).health, Health::unresponsive);
  EXPECT_EQ(view(id).state, State::running);
  EXPECT_EQ(world_.engine().queue_lengths().unresponsive, 1U);

  EXPECT_THAT(health_events(), ::testing::ElementsAre("unresponsive"));
}

TEST_F(HealingTest, OneThatDoesNotAnswerIsMadeAnewWhereThatWasAsked) {
  world_.start();
  const auto id = make(OnFailure::recreate);
  world_.host().boxes.at(id)->silent = true;

  feel(3);
  EXPECT_EQ(view(id).health, Health::recovering);
  pass(seconds(1));

  EXPECT_EQ(view(id).state, State::running);
  EXPECT_EQ(view(id).health, Health::ok);
  EXPECT_EQ(view(id).recoveries, 1);
  feel(4);
  EXPECT_EQ(view(id).health, Health::ok);
}

TEST_F(HealingTest, AQuestionThatWasNotAnsweredIsNotAskedTwice) {
  world_.start();
  const auto id = make(OnFailure::fail);
  world_.host().boxes.at(id)->silent = true;

  feel(10);

  EXPECT_EQ(world_.host().boxes.at(id)->asked_in_vain, 1);
}

TEST_F(HealingTest, ManySandboxesAreAskedInTurns) {
  world_.start();
  std::vector<std::string> ids;
  for (size_t i = 0; i < Pulse::kMostAtOnce + 10; ++i) {
    ids.push_back(make(OnFailure::fail));
    world_.host().boxes.at(ids.back())->silent = true;
  }

  feel(1);
  int asked = 0;
  for (const auto& id : ids) asked += world_.host().boxes.at(id)->asked_in_vain;
  EXPECT_EQ(asked, static_cast<int>(Pulse::kMostAtOnce));
  ASSERT_TRUE(world_.run(world_.engine().feel_pulses()));
  asked = 0;
  for (const auto& id : ids) asked += world_.host().boxes.at(id)->asked_in_vain;

  EXPECT_EQ(asked, static_cast<int>(ids.size()));
}

// However many there are: each is asked within twice the time, and three questions find it.
TEST_F(HealingTest, OneOfManyThatHangsIsFoundInAFewMinutes) {
  world_.start();
  for (size_t i = 0; i < 999; ++i) make(OnFailure::fail);
  const auto hung = make(OnFailure::fail);
  world_.host().boxes.at(hung)->silent = true;
  const auto every = world_.options.pulse_every / Pulse::kRounds;

  seconds passed{0};
  while (view(hung).health == Health::ok && passed < seconds(3'600)) {
    world_.advance(every);
    passed += every;
    ASSERT_TRUE(world_.run(world_.engine().feel_pulses()));
  }

  EXPECT_EQ(view(hung).health, Health::unresponsive);
  EXPECT_LE(passed, Pulse::kMostMissed * 2 * world_.options.pulse_every);
  EXPECT_EQ(world_.engine().queue_lengths().unresponsive, 1U);
}

// A driver hangs with all that it has: the others are asked in the same round.
TEST_F(HealingTest, ManyThatHangHoldUpNobody) {
  world_.options.pulse_patience = Millis(50);
  world_.start();
  std::vector<std::string> hung;
  for (size_t i = 0; i < 4 * Pulse::kMostAtOnce; ++i) {
    const auto id = make(OnFailure::fail);
    if (i % 32 != 0) hung.push_back(id);
  }
  for (const auto& id : hung) world_.host().boxes.at(id)->silent = true;

  feel(2 * Pulse::kRounds * Pulse::kMostMissed);

  for (const auto& id : hung) EXPECT_EQ(view(id).health, Health::unresponsive);
  EXPECT_EQ(world_.engine().queue_lengths().unresponsive, hung.size());
}

TEST_F(HealingTest, WhatCouldNotBeMadeAgainIsRefusedAtTheBeginning) {
  world_.start();
  CreateRequest request;
  request.on_failure = OnFailure::recreate;
  request.files = {{"a", "b"}};
  EXPECT_THAT(world_.create(std::move(request)).error().message(),
              HasSubstr("on_failure: a sandbox with files from the beginning"));

  world_.host().capabilities.reset = false;
  world_.restart();
  CreateRequest plain;
  plain.on_failure = OnFailure::recreate;
  EXPECT_THAT(world_.create(std::move(plain)).error().hint(),
              HasSubstr("fake cannot make a sandbox anew"));
}

// A template whose name may stand for something else by now.
class HealingFromATemplateTest : public HealingTest {
 protected:
  HealingFromATemplateTest() {
    world_.host().capabilities.homes = world_.host().capabilities.templates = true;
    world_.options.reopen_template = [this](CreateRequest& request, const std::string& id) {
      asked_.push_back(id);
      return is_kept_ ? open(request, id) : Error(Code::not_found, "no template has the id " + id);
    };
    world_.start();
    CreateRequest request;
    request.on_failure = OnFailure::recreate;
    request.template_name = "tools:1";
    EXPECT_TRUE(open(request, "version-1"));
    id_ = world_.create(std::move(request)).value().id;
  }

  static Result<> open(CreateRequest& request, const std::string& id) {
    TRY(auto directory, os::open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
    request.root = HostDirectory{std::move(directory), "/templates/" + id, "/", HostAccess::ro};
    request.template_id = id;
    return {};
  }

  std::vector<std::string> asked_;
  bool is_kept_ = true;
  std::string id_;
};

TEST_F(HealingFromATemplateTest, ItGetsTheVersionThatItWasMadeOf) {
  world_.host().end(id_, EndedBy::death);
  pass(seconds(1));

  EXPECT_EQ(view(id_).state, State::running);
  EXPECT_EQ(view(id_).recoveries, 1);
  EXPECT_THAT(asked_, ::testing::ElementsAre("version-1"));
  const auto& spec = world_.host().boxes.at(id_)->spec;
  EXPECT_EQ(spec.template_id, "version-1");
  ASSERT_TRUE(spec.root);
  EXPECT_EQ(spec.root->host_path, "/templates/version-1");
}

TEST_F(HealingFromATemplateTest, WithoutThatVersionItIsGivenUp) {
  is_kept_ = false;
  world_.host().end(id_, EndedBy::death);
  pass(seconds(1));

  EXPECT_EQ(view(id_).health, Health::failed);
  EXPECT_THAT(view(id_).failure, HasSubstr("given up: template tools:1: no template has the id"));
}

class HealingAfterCrashTest : public HealingTest {
 protected:
  HealingAfterCrashTest() : HealingTest(EngineWorld::Keeps::file) {}
};

TEST_F(HealingAfterCrashTest, WhatDiedWhileNobodyWasThereIsMadeAnew) {
  world_.start();
  const auto id = make(OnFailure::recreate);

  world_.crash();
  world_.host().lose(id);
  world_.start();
  EXPECT_EQ(view(id).health, Health::recovering);
  pass(seconds(1));
  world_.wait_until([&] { return view(id).state == State::running; });

  EXPECT_TRUE(world_.host().is_running(id));
}

TEST_F(HealingAfterCrashTest, WithoutItsEnvironmentItIsNotMadeAnew) {
  world_.start();
  const auto id = make(OnFailure::recreate, {{"TOKEN", "x"}});

  world_.crash();
  world_.host().lose(id);
  world_.start();
  pass(seconds(1));
  world_.wait_until([&] { return view(id).health == Health::failed; });

  EXPECT_EQ(view(id).state, State::failed);
  EXPECT_THAT(view(id).failure, HasSubstr("given up: the values of the environment"));
  EXPECT_FALSE(world_.host().has(id));
}

TEST_F(HealingAfterCrashTest, TriesAreCountedAcrossDaemons) {
  world_.start();
  const auto id = make(OnFailure::recreate);
  world_.host().fail("create", Error(Code::unavailable, "no room"), 100);
  world_.host().end(id, EndedBy::death);
  pass(seconds(1));
  world_.wait_until([&] { return world_.host().count("create") == 2; });
  world_.settle();
  static_cast<void>(world_.run(world_.store().find_sandbox(id)));

  world_.restart();
  pass(seconds(3));
  EXPECT_EQ(world_.host().count("create"), 2U);
  pass(seconds(1));
  world_.wait_until([&] { return world_.host().count("create") == 3; });
}

}  // namespace
}  // namespace atl
