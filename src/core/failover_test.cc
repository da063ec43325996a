// What creates do when drivers fail: circuits, the budget, and who was asked how often.
#include "core/failover.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "base/refusal.h"
#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The next `left` calls of that step fail.
Task<> lose(std::string step, std::string when, std::shared_ptr<int> left) {
  if (step == when && (*left)-- > 0) co_return Error(Code::unavailable, "lost");
  co_return Result<>();
}

class FailoverTest : public ::testing::Test {
 protected:
  FailoverTest() {
    world_.add("first");
    world_.add("second");
    world_.options.routing.circuit = {.failures = 3,
                                      .first_pause = std::chrono::seconds(10),
                                      .longest_pause = std::chrono::seconds(40)};
  }
  void fail(size_t host, Code code = Code::unavailable, int count = 1'000) {
    world_.host(host).fail("create", Error(code, "it broke"), count);
  }
  std::string serves(CreateRequest request = {}) {
    auto made = world_.create(std::move(request));
    return made ? made->driver : std::string(to_string(made.error().code()));
  }
  Circuit circuit(size_t driver = 0) { return world_.engine().drivers()[driver].circuit; }
  void pass_pause() { world_.advance(Micros(world_.engine().drivers()[0].circuit_opens_for)); }

  EngineWorld world_;
};

TEST_F(FailoverTest, ADriverThatFailsAgainAndAgainIsLeftAlone) {
  fail(0);
  world_.start();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(serves(), "second");

  EXPECT_EQ(world_.host(0).count("create"), 3U);
  EXPECT_EQ(circuit(), Circuit::open);
  const auto refused = world_.create({.driver = "first"});
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("first has failed 3 times in a row"));
  EXPECT_THAT(refused.error().message(), HasSubstr("is asked again in"));
  EXPECT_EQ(world_.host(0).count("create"), 3U);
  EXPECT_THAT(world_.metrics.render(), HasSubstr("atoll_driver_circuit_open{driver=\"first\"} 1"));
}

TEST_F(FailoverTest, AfterThePauseOneCreateFindsOut) {
  fail(0);
  world_.start();
  for (int i = 0; i < 3; ++i) serves();
  pass_pause();
  EXPECT_EQ(circuit(), Circuit::half_open);

  EXPECT_EQ(serves(), "second") << "it has tried, and fallen over";
  EXPECT_EQ(world_.host(0).count("create"), 4U);
  EXPECT_EQ(circuit(), Circuit::open);
  world_.host(0).fail("create", Error(Code::unavailable, ""), 0);
  pass_pause();
  // A fault with no count left is taken away by the next call.
  serves();
  pass_pause();

  EXPECT_EQ(serves(), "first");
  EXPECT_EQ(circuit(), Circuit::closed);
  std::vector<std::string> told;
  for (const auto& event : world_.engine().events().after(0, 1'000).events) {
    if (event->is_of_driver()) told.push_back(event->driver + " " + event->driver_change);
  }
  EXPECT_THAT(told, ElementsAre("first circuit_open", "first circuit_closed"));
}

TEST_F(FailoverTest, WhileOneFindsOutTheOthersGoElsewhere) {
  fail(0, Code::unavailable, 3);
  world_.start();
  for (int i = 0; i < 3; ++i) serves();
  pass_pause();
  world_.host(0).hold("create");
  const auto trial = world_.begin(world_.engine().create({}, {}, {}));

  EXPECT_EQ(serves(), "second");
  EXPECT_EQ(world_.host(0).count("create"), 4U);
  const auto named = world_.create({.driver = "first"});
  EXPECT_THAT(named.error().message(), HasSubstr("another request finds out"));
  world_.host(0).release("create");
  world_.settle();

  EXPECT_EQ(trial.get()->driver, "first");
  EXPECT_EQ(circuit(), Circuit::closed);
}

TEST_F(FailoverTest, CapacityIsCountedFromWhatIsThere) {
  world_.options.routing.capacities["first"] = {.sandboxes = 1};
  world_.options.routing.capacities["second"] = {.sandboxes = 1};
  world_.start();
  const auto one = world_.create();
  EXPECT_EQ(one->driver, "first");
  EXPECT_EQ(world_.create()->driver, "second");

  const auto refused = world_.create();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().hint(), HasSubstr("first is full: it has 1 of 1 sandboxes"));
  ASSERT_TRUE(refused.error().refusal());
  EXPECT_EQ(refused.error().refusal()->limit, "driver_sandboxes");
  EXPECT_EQ(refused.error().refusal()->stages.size(), 1U);
  ASSERT_TRUE(world_.run(world_.engine().destroy({}, one->id)));
  EXPECT_EQ(world_.create()->driver, "first");
}

TEST_F(FailoverTest, WhoFallsOverTakesRoomWhereItLands) {
  world_.options.routing.capacities["first"] = {.sandboxes = 1};
  world_.options.routing.capacities["second"] = {.sandboxes = 1};
  fail(0, Code::unavailable, 1);
  world_.start();
  EXPECT_EQ(world_.create()->driver, "second");

  EXPECT_EQ(world_.create()->driver, "first") << "its room is free again";
  EXPECT_EQ(serves(), "unavailable");
}

TEST_F(FailoverTest, ForksAndLargerSizesNeedRoomToo) {
  auto& can = world_.host(0).capabilities;
  can.fork = can.snapshot = can.resize = true;
  world_.options.routing.capacities["first"] = {.sandboxes = 2, .memory_mb = 300};
  world_.start();
  CreateRequest request;
  request.resources.memory_mb = 100;
  const auto made = world_.create(std::move(request));

  const auto two = world_.run(world_.engine().fork({}, made->id, 2, SnapshotKind::disk));
  const auto larger = world_.run(world_.engine().resize({}, made->id, {.memory_mb = 301}));

  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message(), HasSubstr("first is full: it has 1 of 2 sandboxes"));
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().refusal()->limit, "driver_memory_mb");
  EXPECT_TRUE(world_.run(world_.engine().fork({}, made->id, 1, SnapshotKind::disk)));
}

TEST_F(FailoverTest, AFullDriverIsPassedOverAndNotLeftAlone) {
  fail(0, Code::resource_exhausted, 5);
  world_.start();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(serves(), "second");

  EXPECT_EQ(circuit(), Circuit::closed);
  EXPECT_EQ(serves(), "first");
}

TEST_F(FailoverTest, WhatIsWrongWithTheRequestLeadsNowhereElse) {
  fail(0, Code::invalid_argument, 10);
  world_.start();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(serves(), "invalid_argument");

  EXPECT_EQ(circuit(), Circuit::closed);
  EXPECT_EQ(world_.host(1).count("create"), 0U);
}

TEST_F(FailoverTest, WhatNobodyForesawLeadsNowhereElseAndTellsNothingOfTheDriver) {
  world_.start();
  fail(0, Code::unavailable, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(serves(), "second");
  fail(0, Code::internal, 1);
  EXPECT_EQ(serves(), "internal");
  EXPECT_EQ(circuit(), Circuit::closed);
  fail(0, Code::unavailable, 1);
  EXPECT_EQ(serves(), "second");

  EXPECT_EQ(circuit(), Circuit::open) << "three in a row";
}

// An image that is fetched, and nobody waits for it any more.
TEST_F(FailoverTest, ATrialThatIsGivenUpLeavesTheNextOneToFindOut) {
  fail(0, Code::unavailable, 3);
  world_.start();
  for (int i = 0; i < 3; ++i) serves();
  pass_pause();
  world_.host(0).fetches = true;
  world_.host(0).hold("fetch");
  const auto stop = std::make_shared<RunStop>();
  const auto trial = world_.begin(
      world_.engine().run(Caller(), {}, ExecRequest{.argv = {"echo", "hi"}}, "", 1'000, stop));
  ASSERT_FALSE(trial.done());

  stop->stop();
  world_.settle();

  ASSERT_TRUE(trial.done());
  EXPECT_EQ(trial.get().error().code(), Code::cancelled);
  EXPECT_EQ(circuit(), Circuit::half_open);
  world_.host(0).fetches = false;
  EXPECT_EQ(serves(), "first");
  EXPECT_EQ(circuit(), Circuit::closed);
}

// An engine that answers its ping and makes no containers.
TEST(RunModeFailover, GoesOnBehindAnEngineThatMakesNothing) {
  EngineWorld world;
  world.add("docker").fail("create", Error(Code::unavailable, "starting the container"), 1'000);
  world.add("native");
  world.options.routing.circuit.failures = 3;
  world.start();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(world.run(world.engine().probe_drivers()));
    CreateRequest request;
    request.run_mode = "docker";
    const auto made = world.create(std::move(request));
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->driver, "native");
  }

  EXPECT_EQ(world.host(0).count("create"), 3U) << "then it is left alone";
}

TEST_F(FailoverTest, ATimeoutLeadsNowhereElseAndCounts) {
  fail(0, Code::deadline_exceeded, 3);
  world_.start();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(serves(), "deadline_exceeded");

  EXPECT_EQ(circuit(), Circuit::open);
  EXPECT_EQ(serves(), "second");
}

TEST_F(FailoverTest, TheBudgetBoundsWhatFallsOver) {
  world_.options.routing.circuit.failures = 1'000;
  world_.options.routing.retries = {.most = 4, .per_request = 0.1, .per_second = 0};
  fail(0);
  world_.start();
  int served = 0;
  for (int i = 0; i < 100; ++i) {
    const auto made = world_.create();
    if (made) {
      ++served;
    } else {
      EXPECT_EQ(made.error().code(), Code::unavailable);
      EXPECT_THAT(made.error().hint(), HasSubstr("too many creates"));
    }
  }

  // Four of the beginning, and one for each ten creates.
  EXPECT_GE(served, 12);
  EXPECT_LE(served, 15);
  EXPECT_EQ(world_.host(1).count("create"), static_cast<size_t>(served));
  EXPECT_THAT(world_.metrics.render(),
              HasSubstr("atoll_create_failovers_total{driver=\"first\",outcome=\"refused\"}"));
}

TEST_F(FailoverTest, WhenNobodyWorksItIsSaidOfEach) {
  fail(0);
  fail(1);
  world_.start();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(serves(), "unavailable");

  const auto refused = world_.create();

  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().hint(), HasSubstr("first has failed 3 times"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("second has failed 3 times"));
  EXPECT_EQ(world_.host(0).count("create"), 3U);
}

// A route of one driver.
class AloneTest : public ::testing::Test {
 protected:
  AloneTest() { world_.add("only"); }
  void fail(int count, Code code = Code::unavailable) {
    world_.host().fail("create", Error(code, "it broke"), count);
  }

  EngineWorld world_;
};

TEST_F(AloneTest, WhatPassesIsTriedAgainAndTheRecordTellsBoth) {
  fail(1);
  world_.start();

  const auto made = world_.create();

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(world_.host().count("create"), 2U);
  std::vector<std::string> told;
  for (const auto& stage : made->stages) told.push_back(stage.name + ":" + stage.log.value_or(""));
  EXPECT_THAT(told, ElementsAre("route:only, the only one that will do",
                                "intent:", "create:only: it broke", "create:", "commit:"));
  EXPECT_THAT(world_.metrics.render(),
              HasSubstr("atoll_create_failovers_total{driver=\"only\",outcome=\"again\"} 1"));
}

TEST_F(AloneTest, OneThatKeepsFailingIsAskedTwice) {
  fail(9);
  world_.start();

  const auto refused = world_.create();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_EQ(world_.host().count("create"), 2U);
}

TEST_F(AloneTest, OnlyWhatPassesByItselfIsTriedAgain) {
  world_.start();
  for (const Code code : {Code::deadline_exceeded, Code::resource_exhausted, Code::internal,
                          Code::invalid_argument, Code::out_of_space}) {
    const size_t before = world_.host().count("create");
    fail(1, code);
    EXPECT_FALSE(world_.create());
    EXPECT_EQ(world_.host().count("create"), before + 1) << to_string(code);
  }
}

TEST_F(AloneTest, WhatMayHaveBeenMadeIsNotMadeAgain) {
  const auto left = std::make_shared<int>(1);
  world_.host().on_step = [left](std::string step) {
    return lose(std::move(step), "create after", left);
  };
  world_.start();

  const auto refused = world_.create();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_EQ(world_.host().count("create"), 1U);
  EXPECT_EQ(world_.host().ids().size(), 1U) << "it is there, and the sweeper's";
}

TEST_F(AloneTest, ADriverThatCannotTellWhatItHasIsNotAskedAgain) {
  fail(1);
  world_.start();
  world_.host().fail("list", Error(Code::unavailable, "gone"), 1);

  const auto refused = world_.create();

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("it broke"));
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(AloneTest, TheBudgetBoundsSecondTries) {
  world_.options.routing.circuit.failures = 1'000;
  world_.options.routing.retries = {
      .most = 2, .per_request = 0, .per_second = 0, .pause = Micros(0)};
  fail(1'000);
  world_.start();
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(world_.create());

  EXPECT_EQ(world_.host().count("create"), 11U);
  EXPECT_THAT(world_.create().error().hint(), HasSubstr("try again in a moment"));
}

TEST_F(AloneTest, AnOpenCircuitIsNotAskedAgain) {
  world_.options.routing.circuit.failures = 1;
  fail(9);
  world_.start();

  EXPECT_FALSE(world_.create());
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(AloneTest, WhoGivesUpDuringThePauseGetsNothing) {
  world_.options.routing.retries.pause = std::chrono::hours(1);
  fail(1);
  world_.start();
  const auto stop = std::make_shared<RunStop>();
  const auto running = world_.begin(
      world_.engine().run(Caller(), {}, ExecRequest{.argv = {"echo", "hi"}}, "", 1'000, stop));
  EXPECT_FALSE(running.done());

  stop->stop();
  world_.settle();

  ASSERT_TRUE(running.done());
  EXPECT_EQ(running.get().error().code(), Code::cancelled);
  EXPECT_EQ(world_.host().count("create"), 1U);
}

// A profile that requires what the first driver's sandboxes have not.
class ElsewhereTest : public ::testing::Test {
 protected:
  ElsewhereTest() {
    world_.add("first");
    world_.add("second").programs["hg"] = "hg 6.3\n";
    const std::vector<policy::ProfileText> texts{{"t.yaml", "name: p\nrequires: [hg]\n"}};
    world_.options.profiles = policy::Profiles::load(texts).value();
  }
  Result<SandboxView> create(CreateRequest request = {}) {
    request.profile = "p";
    return world_.create(std::move(request));
  }

  EngineWorld world_;
};

TEST_F(ElsewhereTest, WhatIsRequiredAndNotThereIsLookedForAtTheNextAndTheRecordTellsBoth) {
  world_.start();
  CreateRequest request;
  request.files.push_back({"own.txt", "mine"});

  const auto made = create(std::move(request));

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->driver, "second");
  EXPECT_TRUE(world_.host(0).ids().empty());
  EXPECT_EQ(world_.host(1).boxes.at(made->id)->files.count("/workspace/own.txt"), 1U);
  std::vector<std::string> names;
  for (const auto& stage : made->stages) names.push_back(stage.name);
  ASSERT_THAT(names,
              ElementsAre("route", "intent", "create", "files", "requires", "requires", "commit"));
  EXPECT_EQ(made->stages[4].log, "first: requires: hg: the sandbox has none");
}

TEST_F(ElsewhereTest, WhoeverNamesTheDriverHasNoOther) {
  world_.start();

  const auto refused = create({.driver = "first"});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().stage(), "requires");
  EXPECT_THAT(refused.error().message(), HasSubstr("first: requires: hg: the sandbox has none"));
  EXPECT_TRUE(world_.host(0).ids().empty());
  EXPECT_EQ(world_.host(1).count("create"), 0U);
}

TEST_F(ElsewhereTest, WhenNobodyHasItItIsRefusedAndNothingIsLeft) {
  world_.host(1).programs.clear();
  world_.start();

  const auto refused = create();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("second: requires: hg"));
  EXPECT_TRUE(world_.host(0).ids().empty());
  EXPECT_TRUE(world_.host(1).ids().empty());
}

TEST_F(ElsewhereTest, WhatCannotBeTakenAwayIsNotMadeElsewhere) {
  world_.host(0).fail("destroy", Error(Code::unavailable, "it hangs"), 1);
  world_.start();

  const auto refused = create();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().stage(), "requires");
  EXPECT_EQ(world_.host(1).count("create"), 0U);
}

TEST_F(ElsewhereTest, ItCostsNoTokenAndBlamesNobody) {
  world_.options.routing.retries = {.most = 1, .per_request = 0, .per_second = 0};
  world_.start();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(create()->driver, "second");

  EXPECT_EQ(world_.engine().drivers()[0].circuit, Circuit::closed);
}

// Random worlds, requests, faults, lost answers, strategies and times: whatever comes of it, no
// sandbox is below the floor or outside the placement, and a request has one sandbox at most.
TEST(FailoverProperty, NoScheduleLeadsBelowTheFloorOutsideThePlacementOrToTwo) {
  std::mt19937 dice(7);
  const auto below = [&](unsigned count) { return dice() % count; };
  size_t made_in_all = 0;
  size_t fallen_over = 0;
  size_t opened = 0;
  size_t none_made = 0;
  for (int round = 0; round < 150; ++round) {
    EngineWorld world;
    const size_t hosts = 2 + below(4);
    for (size_t i = 0; i < hosts; ++i) {
      FakeHost& host = world.add("d" + std::to_string(i), static_cast<Isolation>(1 + below(4)));
      if (below(2) == 0) world.options.routing.labels[host.name()]["zone"] = "eu";
      if (below(6) == 0) world.options.routing.capacities[host.name()].sandboxes = 5 + below(10);
      host.capabilities.placement = static_cast<Placement>(below(3));
      host.capabilities.typical_start_ms = static_cast<double>(below(50));
      if (below(2) == 0) host.capabilities.price_per_hour = static_cast<double>(below(10));
    }
    // One without isolation, which is used only when it is named.
    world.add("none", Isolation::none);
    policy::Quota& tenant = world.options.admission.quotas.usual;
    if (below(4) == 0) tenant.min_isolation = static_cast<Isolation>(below(4));
    if (below(4) == 0) tenant.placement = static_cast<Placement>(below(3));
    const Isolation least = tenant.min_isolation.value_or(Isolation::none);
    const Placement farthest = tenant.placement.value_or(Placement::own);
    world.options.routing.health = {.failures = 2, .answers = 2};
    world.options.routing.circuit.failures = 2;
    world.start();
    std::map<std::string, std::string> key_of;  // what was given → the key that it was for
    for (int step = 0; step < 60; ++step) {
      FakeHost& one = world.host(below(static_cast<unsigned>(hosts + 1)));
      switch (below(8)) {
        case 0:
          one.down();
          break;
        case 1:
          one.up();
          break;
        case 2: {
          // The answer is lost after it was made.
          const bool is_after = below(2) == 0;
          const auto left = std::make_shared<int>(1 + static_cast<int>(below(3)));
          const std::string when = is_after ? "create after" : "create before";
          one.on_step = [when, left](std::string step) {
            return lose(std::move(step), when, left);
          };
          break;
        }
        case 3:
          world.advance(std::chrono::seconds(below(20)));
          break;
        case 4:
          ASSERT_TRUE(world.run(world.engine().probe_drivers()));
          break;
        case 5:
          world.sweep();
          break;
        default:
          break;
      }
      CreateRequest request;
      const auto floor = static_cast<Isolation>(below(5));
      const auto placement = static_cast<Placement>(below(3));
      request.min_isolation = floor;
      request.placement = placement;
      request.strategy = static_cast<policy::Strategy>(below(5));
      const bool names_none = below(6) == 0;
      if (names_none) request.preferred = {"none", "d0"};
      const bool has_zone = below(6) == 0;
      if (has_zone) request.driver_labels["zone"] = "eu";
      const std::string key = "key" + std::to_string(below(30)) + "-" +
                              std::to_string(static_cast<int>(floor)) + "-" +
                              std::to_string(static_cast<int>(placement)) +
                              (names_none ? "-none" : "") + (has_zone ? "-zone" : "");
      const auto made = world.create(std::move(request), Idempotency{key, key});
      for (const auto& view : world.engine().drivers()) {
        opened += view.circuit != Circuit::closed;
        if (view.capacity.sandboxes) ASSERT_LE(view.used.sandboxes, *view.capacity.sandboxes);
      }
      if (!made) continue;
      ++made_in_all;
      ASSERT_GE(made->isolation, floor);
      ASSERT_LE(made->placement, placement);
      ASSERT_GE(made->isolation, least);
      ASSERT_LE(made->placement, farthest);
      ASSERT_TRUE(made->isolation != Isolation::none || names_none);
      ASSERT_TRUE(!has_zone || world.options.routing.labels.contains(made->driver));
      none_made += made->isolation == Isolation::none;
      const auto& given = key_of.emplace(made->id, key).first->second;
      ASSERT_EQ(given, key) << "one sandbox for two requests";
      for (const auto& [id, of] : key_of) {
        ASSERT_TRUE(of != key || id == made->id) << "two sandboxes for one request";
      }
    }
    // Once everybody answers, what is there is what was given, each once and where it may be.
    for (size_t i = 0; i <= hosts; ++i) {
      world.host(i).up();
      world.host(i).on_step = nullptr;
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(world.run(world.engine().probe_drivers()));
      world.sweep();
    }
    std::set<std::string> there;
    std::set<std::string> asked;
    for (size_t i = 0; i <= hosts; ++i) {
      for (const auto& id : world.host(i).ids()) {
        ASSERT_TRUE(there.insert(id).second) << id << " is there twice";
        ASSERT_EQ(world.engine().get({}, id)->driver, world.host(i).name());
      }
      for (const auto& call : world.host(i).calls) {
        if (call.starts_with("create ") && !asked.insert(call).second) ++fallen_over;
      }
    }
    for (const auto& [id, key] : key_of) ASSERT_TRUE(there.contains(id)) << id << " is lost";
  }
  EXPECT_GT(made_in_all, 2'000U);
  EXPECT_GT(opened, 500U);
  EXPECT_GT(fallen_over, 100U);
  EXPECT_GT(none_made, 30U);
}

}  // namespace
}  // namespace atl
