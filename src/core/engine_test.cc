// What the engine promises about making and finding sandboxes.
#include "core/engine.h"

#include "core/engine_world_internal.h"
#include "core/event_log.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { world_.add(); }

  std::vector<std::string> stage_names(const SandboxView& view) {
    std::vector<std::string> names;
    for (const auto& stage : view.stages) names.push_back(stage.name);
    return names;
  }
  Result<SandboxView> stop(std::string id) { return world_.run(world_.engine().stop({}, id)); }
  Result<> destroy(std::string id) { return world_.run(world_.engine().destroy({}, id)); }

  EngineWorld world_;
};

TEST_F(EngineTest, ACreatedSandboxRunsAndSaysWhereItsTimeWent) {
  world_.start();

  const auto view = world_.create();

  ASSERT_TRUE(view);
  EXPECT_TRUE(is_sandbox_id(view->id));
  EXPECT_EQ(view->state, State::running);
  EXPECT_EQ(view->driver, "fake");
  EXPECT_EQ(view->isolation, Isolation::container);
  EXPECT_EQ(view->expires_at, world_.clock.wall() + seconds(3600));
  EXPECT_THAT(stage_names(*view), ElementsAre("route", "intent", "create", "commit"));
  EXPECT_EQ(world_.exec(view->id, {"echo", "hi"}), "hi\n");
}

TEST_F(EngineTest, IsFoundByIdAndByName) {
  world_.start();
  const auto id = world_.create_named("web");

  EXPECT_EQ(world_.engine().get({}, id)->name, "web");
  EXPECT_EQ(world_.engine().get({}, "web")->id, id);
  EXPECT_EQ(world_.engine().get({}, "other").error().code(), Code::not_found);
}

TEST_F(EngineTest, AnotherTenantSeesNothing) {
  world_.start();
  const auto id = world_.create_named("web");
  const Caller stranger{.tenant = "other"};

  EXPECT_EQ(world_.engine().get(stranger, id).error().code(), Code::not_found);
  EXPECT_EQ(world_.engine().get(stranger, "web").error().code(), Code::not_found);
  EXPECT_THAT(world_.engine().list(stranger, {})->sandboxes, IsEmpty());
  EXPECT_EQ(world_.run(world_.engine().destroy(stranger, id)).error().code(), Code::not_found);
  EXPECT_TRUE(world_.host().has(id));
}

TEST_F(EngineTest, ATenantHasRoomForItsNumberOfSandboxesForksIncluded) {
  world_.options.most_sandboxes_per_tenant = 2;
  world_.host().capabilities.fork = true;
  world_.start();
  const Caller mine{.tenant = "mine"}, other{.tenant = "other"};
  const auto id = world_.run(world_.engine().create(mine, {}, {})).value().id;

  EXPECT_EQ(world_.run(world_.engine().fork(mine, id, 2)).error().code(), Code::resource_exhausted);
  EXPECT_TRUE(world_.run(world_.engine().fork(mine, id, 1)));
  EXPECT_EQ(world_.run(world_.engine().create(mine, {}, {})).error().code(),
            Code::resource_exhausted);
  EXPECT_TRUE(world_.run(world_.engine().create(other, {}, {})));
  EXPECT_EQ(world_.engine().count_of("mine"), 2U);
  ASSERT_TRUE(world_.run(world_.engine().destroy(mine, id)));
  EXPECT_TRUE(world_.run(world_.engine().create(mine, {}, {})));
}

TEST_F(EngineTest, TheSameNameWithTheSameRequestIsTheSameSandbox) {
  world_.start();
  CreateRequest request;
  request.name = "web";
  request.labels = {{"a", "b"}};
  const auto again = request.labels;
  const auto first = world_.create(std::move(request));

  CreateRequest second;
  second.name = "web";
  second.labels = again;
  const auto view = world_.create(std::move(second));

  ASSERT_TRUE(view);
  EXPECT_EQ(view->id, first->id);
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(EngineTest, TheSameNameWithAnotherRequestSaysWhatDiffers) {
  world_.start();
  world_.create_named("web");

  CreateRequest other;
  other.name = "web";
  other.env = {{"A", "1"}};
  other.ttl = seconds(5);
  const auto view = world_.create(std::move(other));

  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Code::already_exists);
  EXPECT_THAT(view.error().message(), HasSubstr("ttl_s, env"));
}

TEST_F(EngineTest, ValuesOfTheEnvironmentCountAsPartOfTheRequest) {
  world_.start();
  const auto create = [&](std::string value) {
    CreateRequest request;
    request.name = "web";
    request.env = {{"A", std::move(value)}};
    return world_.create(std::move(request));
  };
  ASSERT_TRUE(create("1"));

  EXPECT_TRUE(create("1"));
  EXPECT_EQ(create("2").error().code(), Code::already_exists);
}

TEST_F(EngineTest, CreatesOfTheSameNameAtTheSameTimeJoin) {
  world_.start();
  world_.host().hold("create");
  const auto begin = [&] {
    CreateRequest request;
    request.name = "web";
    return world_.begin(world_.engine().create({}, std::move(request), {}));
  };

  const auto first = begin();
  const auto second = begin();
  EXPECT_FALSE(first.done() || second.done());
  world_.host().release("create");
  world_.settle();

  ASSERT_TRUE(first.done() && second.done());
  EXPECT_EQ(first.get()->id, second.get()->id);
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(EngineTest, JoinedCreatesFailTogetherAndTheNameIsFreeAgain) {
  world_.start();
  world_.host().hold("create");
  world_.host().on_step = [](std::string) -> Task<> { co_return Error(Code::internal, "broken"); };
  const auto begin = [&] {
    CreateRequest request;
    request.name = "web";
    return world_.begin(world_.engine().create({}, std::move(request), {}));
  };

  const auto first = begin();
  const auto second = begin();
  world_.host().release("create");
  world_.settle();
  world_.host().on_step = nullptr;

  EXPECT_EQ(first.get().error().code(), Code::internal);
  EXPECT_EQ(second.get().error().code(), Code::internal);
  EXPECT_TRUE(begin().get());
}

TEST_F(EngineTest, TheSameIdempotencyKeyGivesTheSameSandbox) {
  world_.start();
  const Idempotency key{"k1", "hash1"};

  const auto first = world_.create({}, key);
  const auto second = world_.create({}, key);
  const auto other = world_.create({}, Idempotency{"k2", "hash1"});

  EXPECT_EQ(first->id, second->id);
  EXPECT_NE(first->id, other->id);
  EXPECT_EQ(world_.host().count("create"), 2U);
}

TEST_F(EngineTest, TheSameIdempotencyKeyAtTheSameTimeJoins) {
  world_.start();
  world_.host().hold("create");

  const auto first = world_.begin(world_.engine().create({}, {}, Idempotency{"k", "h"}));
  const auto second = world_.begin(world_.engine().create({}, {}, Idempotency{"k", "h"}));
  world_.host().release("create");
  world_.settle();

  EXPECT_EQ(first.get()->id, second.get()->id);
}

TEST_F(EngineTest, AnIdempotencyKeyWithAnotherRequestIsRefused) {
  world_.start();
  ASSERT_TRUE(world_.create({}, Idempotency{"k1", "hash1"}));

  const auto other = world_.create({}, Idempotency{"k1", "hash2"});

  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::idempotency_mismatch);
}

TEST_F(EngineTest, AnIdempotencyKeyOutlivesItsSandboxAndNotTheDay) {
  world_.start();
  const Idempotency key{"k1", "hash1"};
  const auto id = world_.create({}, key)->id;
  ASSERT_TRUE(destroy(id));

  const auto same_day = world_.create({}, key);
  world_.advance(std::chrono::hours(24));
  const auto next_day = world_.create({}, key);

  ASSERT_FALSE(same_day);
  EXPECT_EQ(same_day.error().code(), Code::conflict);
  EXPECT_THAT(same_day.error().message(), HasSubstr(id));
  EXPECT_THAT(same_day.error().hint(), HasSubstr("new Idempotency-Key"));
  ASSERT_TRUE(next_day);
  EXPECT_NE(next_day->id, id);
}

TEST_F(EngineTest, AFailedCreationMayBeTriedAgainWithTheSameKey) {
  world_.start();
  const Idempotency key{"k1", "hash1"};
  world_.host().fail("create", Error(Code::internal, "broken"));

  EXPECT_FALSE(world_.create({}, key));
  EXPECT_TRUE(world_.create({}, key));
}

TEST_F(EngineTest, AFailedCreationLeavesNothingAndSaysAtWhichStage) {
  world_.start();
  world_.host().fail("create", Error(Code::internal, "no cgroup").with_hint("mount cgroup2"));

  const auto view = world_.create();

  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().stage(), "create");
  EXPECT_THAT(view.error().message(), HasSubstr("fake: no cgroup"));
  EXPECT_EQ(view.error().hint(), "mount cgroup2");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty());
  EXPECT_THAT(world_.engine().get({}, world_.host().calls.back().substr(7)).error().message(),
              HasSubstr("could not be made"));
}

TEST_F(EngineTest, ATransientFailureFallsOverToTheNextDriver) {
  auto& second = world_.add("second");
  world_.start();
  world_.host().fail("create", Error(Code::resource_exhausted, "full"));

  const auto view = world_.create();

  ASSERT_TRUE(view);
  EXPECT_EQ(view->driver, "second");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_TRUE(second.has(view->id));
}

TEST_F(EngineTest, APermanentFailureDoesNotFallOver) {
  auto& second = world_.add("second");
  world_.start();
  world_.host().fail("create", Error(Code::invalid_argument, "no such image"));

  EXPECT_FALSE(world_.create());
  EXPECT_EQ(second.count("create"), 0U);
}

TEST_F(EngineTest, FallingOverNeverGoesBelowTheFloor) {
  world_.host().capabilities.isolation = Isolation::vm;
  auto& weaker = world_.add("weaker", Isolation::process);
  world_.start();
  world_.host().fail("create", Error(Code::unavailable, "busy"), 2);  // it is asked twice
  CreateRequest request;
  request.min_isolation = Isolation::vm;

  const auto view = world_.create(std::move(request));

  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Code::unavailable);
  EXPECT_EQ(weaker.count("create"), 0U);
}

TEST_F(EngineTest, ThereIsALimitOfSandboxes) {
  world_.options.most_sandboxes = 2;
  world_.start();
  ASSERT_TRUE(world_.create());
  const auto id = world_.create()->id;

  const auto refused = world_.create();
  ASSERT_TRUE(destroy(id));

  EXPECT_EQ(refused.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(world_.create());
}

TEST_F(EngineTest, ListsInPagesAndByFilter) {
  world_.start();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    CreateRequest request;
    request.labels = {{"parity", i % 2 == 0 ? "even" : "odd"}};
    ids.push_back(world_.create(std::move(request))->id);
    world_.advance(seconds(1));
  }

  std::vector<std::string> seen;
  ListFilter filter{.limit = 2};
  do {
    const auto page = world_.engine().list({}, filter);
    for (const auto& view : page->sandboxes) seen.push_back(view.id);
    filter.cursor = page->next_cursor;
    if (seen.size() == 2) ASSERT_TRUE(destroy(ids[1]));  // pages survive changes
  } while (!filter.cursor.empty());

  EXPECT_EQ(seen, ids);
  EXPECT_THAT(world_.engine().list({}, {.labels = {{"parity", "even"}}})->sandboxes, SizeIs(3));
  EXPECT_THAT(world_.engine().list({}, {.state = State::stopped})->sandboxes, IsEmpty());
  EXPECT_EQ(world_.engine().list({}, {.cursor = "junk"}).error().code(), Code::invalid_argument);
  EXPECT_EQ(world_.engine().list({}, {.limit = 0}).error().code(), Code::invalid_argument);
}

TEST_F(EngineTest, TheDriversAreShownWithWhatWouldHelp) {
  world_.add("docker").down();
  world_.start();

  const auto drivers = world_.engine().drivers();

  ASSERT_THAT(drivers, SizeIs(2));
  EXPECT_TRUE(drivers[0].available);
  EXPECT_FALSE(drivers[1].available);
  EXPECT_EQ(drivers[1].hint, "start docker");
}

TEST_F(EngineTest, SomebodyElsesServerIsAskedOnlyWhenNobodyElseWillDo) {
  FakeHost& docker = world_.add("docker");
  docker.is_somebody_elses = true;
  world_.options.asking = Asking::when_needed;
  world_.start();
  ASSERT_TRUE(world_.create());
  EXPECT_EQ(docker.count("probe"), 0U);
  EXPECT_EQ(docker.count("list"), 0U);

  const auto made = world_.create({.driver = "docker"});

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->driver, "docker");
  EXPECT_EQ(docker.count("probe"), 1U);
}

TEST_F(EngineTest, RuntimesAreTriedOnlyForThoseWhoNameOne) {
  FakeHost& docker = world_.add("docker");
  docker.is_somebody_elses = docker.tries_runtimes = true;
  docker.capabilities.runtimes = {{"runsc", Isolation::sentry}};
  world_.options.asking = Asking::when_needed;
  world_.start();
  ASSERT_TRUE(world_.create({.driver = "docker"}));
  EXPECT_EQ(docker.count("try_runtimes"), 0U);

  const auto made = world_.create({.driver = "docker", .runtime = "runsc"});

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->isolation, Isolation::sentry);
  EXPECT_EQ(docker.count("try_runtimes"), 1U);

  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));
  EXPECT_TRUE(world_.create({.driver = "docker", .runtime = "runsc"}))
      << "a later look has forgotten it";
}

TEST_F(EngineTest, NoForkIsWeakerThanItsParent) {
  world_.host().capabilities.fork = true;
  world_.start();
  const auto id = world_.create()->id;
  world_.host().capabilities.isolation = Isolation::process;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));

  const auto refused = world_.run(world_.engine().fork({}, id, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);

  world_.host().capabilities.isolation = Isolation::container;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));
  world_.host().hold("fork");
  const auto late = world_.begin(world_.engine().fork({}, id, 1));
  world_.wait_until([&] { return world_.host().count("fork") == 1; });
  world_.host().capabilities.isolation = Isolation::process;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));
  world_.host().release("fork");
  world_.wait_until([&] { return late.done(); });

  EXPECT_FALSE(late.get()) << "it came to be weaker while it was made";
  EXPECT_THAT(world_.host().ids(), ElementsAre(id));
}

TEST_F(EngineTest, WhoComesWhileSomebodyElsesServerIsAskedWaitsForItToo) {
  FakeHost& docker = world_.add("docker");
  docker.is_somebody_elses = true;
  world_.options.asking = Asking::when_needed;
  world_.start();
  docker.hold("probe");
  const auto first = world_.begin(world_.engine().create({}, {.driver = "docker"}, {}));
  world_.settle();
  const auto second = world_.begin(world_.engine().create({}, {.driver = "docker"}, {}));
  world_.settle();

  docker.release("probe");
  world_.settle();

  ASSERT_TRUE(first.get()) << first.get().error().message();
  ASSERT_TRUE(second.get()) << second.get().error().message();
}

TEST_F(EngineTest, TheGaugeOfSandboxesFollowsTheirStates) {
  world_.start();
  const auto id = world_.create()->id;
  ASSERT_TRUE(world_.create());
  EXPECT_EQ(world_.metrics.sandboxes.at("running").value(), 2);

  ASSERT_TRUE(stop(id));
  EXPECT_EQ(world_.metrics.sandboxes.at("running").value(), 1);
  EXPECT_EQ(world_.metrics.sandboxes.at("stopped").value(), 1);
  ASSERT_TRUE(destroy(id));

  EXPECT_EQ(world_.metrics.sandboxes.at("stopped").value(), 0);
  EXPECT_EQ(world_.metrics.sandboxes.at("destroyed").value(), 0);
}

TEST_F(EngineTest, ACallGoesOnToItsEndWhenItsCallerGoesAway) {
  world_.start();
  world_.host().hold("create");
  asio::cancellation_signal cancel;
  CreateRequest request;
  request.name = "web";
  const auto created = world_.begin(world_.engine().create({}, std::move(request), {}), cancel);

  cancel.emit(asio::cancellation_type::all);
  world_.settle();
  EXPECT_EQ(created.get().error().code(), Code::cancelled);
  world_.host().release("create");
  world_.settle();

  EXPECT_EQ(world_.state_of("web"), State::running);
}

TEST_F(EngineTest, HowFarAnImageIsIsToldNowAndThen) {
  world_.host().on_create = [this](const SandboxSpec& spec) {
    spec.on_progress({.stage = "boot"});
    for (uint64_t done = 0; done < 20; ++done) {
      spec.on_progress({.stage = "pull", .done = done, .total = 20});
      world_.advance(std::chrono::milliseconds(50));
    }
    spec.on_progress({.stage = "pull", .is_over = true});
  };
  world_.start();
  const auto id = world_.create()->id;

  std::vector<uint64_t> told;
  for (const auto& event : world_.engine().events().after(0, 1'000).events) {
    if (!event->progress) continue;
    EXPECT_EQ(event->sandbox, id);
    EXPECT_EQ(event->to, State::starting);
    EXPECT_EQ(event->progress->stage, "pull");
    told.push_back(event->progress->done);
  }
  EXPECT_THAT(told, ElementsAre(0, 10));
}

TEST_F(EngineTest, ShuttingDownLeavesSandboxesForTheNextDaemonOrEndsThem) {
  world_.start();
  const auto id = world_.create()->id;

  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::leave_sandboxes)));
  EXPECT_TRUE(world_.host().is_running(id));
  EXPECT_EQ(world_.create().error().code(), Code::unavailable);
  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::end_sandboxes)));

  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

}  // namespace
}  // namespace atl
