#include "core/admission.h"

#include <algorithm>

#include "base/refusal.h"
#include "core/engine_world_internal.h"
#include "core/event_log.h"
#include "policy/judge.h"

namespace atl {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// Says what it is told to, and keeps what it was asked.
class FakeJudge final : public policy::Judge {
 public:
  Task<> decide(std::string input) override {
    asked.push_back(std::move(input));
    if (verdict) co_return Result<>();
    co_return verdict.error();
  }

  Result<> verdict;
  std::vector<std::string> asked;
};

Task<> create_and_tell(Engine& engine, int tenant, std::function<void(int)> told) {
  const Caller caller{.tenant = "tenant" + std::to_string(tenant)};
  auto made = co_await engine.create(caller, {}, {});
  if (made) told(tenant);
  co_return Result<>();
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() { world_.add(); }

  static CreateRequest sized(Resources resources) {
    CreateRequest request;
    request.resources = resources;
    return request;
  }
  static CreateRequest named(std::string name) {
    CreateRequest request;
    request.name = std::move(name);
    return request;
  }
  static ExecRequest command(std::string word) {
    ExecRequest exec;
    exec.argv = {std::move(word)};
    return exec;
  }
  Task<SandboxView> create(std::string tenant, CreateRequest request = {}) {
    return world_.engine().create(Caller{.tenant = std::move(tenant)}, std::move(request), {});
  }
  // One that is made until finish(): everybody else waits.
  void begin_blocking() {
    world_.options.admission.most_creations = 1;
    world_.options.admission.queue_timeout = seconds(10);
    world_.start();
    world_.host().hold("create");
    blocking_ = world_.begin(create("busy"));
  }
  void finish_blocking() {
    world_.host().release("create");
    world_.settle();
    ASSERT_TRUE(blocking_.done());
  }

  EngineWorld world_;
  Pending<SandboxView> blocking_;
};

TEST_F(AdmissionTest, AQuotaIsOfWhatTheLiveSandboxesHaveTogether) {
  world_.options.admission.quotas.usual = {.milli_cpus = 2'000, .memory_mb = 1'000};
  world_.start();
  const auto first = world_.run(create("a", sized({.cpu = 1.5, .memory_mb = 600})));
  ASSERT_TRUE(first);

  const auto refused = world_.run(create("a", sized({.cpu = 0.1, .memory_mb = 500})));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::resource_exhausted);
  EXPECT_EQ(refused.error().message(),
            "this tenant has 600 of 1000 MiB of memory and asks for 500 more");
  EXPECT_EQ(refused.error().stage(), "admission");
  ASSERT_TRUE(refused.error().refusal());
  EXPECT_EQ(refused.error().refusal()->limit, "memory_mb");
  EXPECT_EQ(refused.error().refusal()->used, 600);
  EXPECT_EQ(world_.host().ids().size(), 1U) << "nothing was half made";
  EXPECT_TRUE(world_.run(create("b", sized({.memory_mb = 500})))) << "another tenant's is another";
  ASSERT_TRUE(world_.run(world_.engine().destroy(Caller{.tenant = "a"}, first->id)));
  EXPECT_TRUE(world_.run(create("a", sized({.cpu = 2, .memory_mb = 1'000}))));
}

TEST_F(AdmissionTest, AQuotaIsRightAfterACrash) {
  EngineWorld world(EngineWorld::Keeps::file);
  world.add();
  world.options.admission.quotas.usual = {.memory_mb = 1'000};
  world.start();
  const auto make = [&](int64_t memory) {
    return world.run(
        world.engine().create(Caller{.tenant = "a"}, sized({.memory_mb = memory}), {}));
  };
  ASSERT_TRUE(make(700));
  const auto second = make(200);
  ASSERT_TRUE(second);

  world.restart();

  EXPECT_EQ(world.engine().use_of("a").used.memory_mb, 900);
  EXPECT_EQ(make(200).error().code(), Code::resource_exhausted);
  ASSERT_TRUE(world.run(world.engine().destroy(Caller{.tenant = "a"}, second->id)));
  EXPECT_TRUE(make(200));
}

TEST_F(AdmissionTest, ForksAndLargerSizesCount) {
  world_.host().capabilities.fork = true;
  world_.host().capabilities.resize = true;
  world_.options.admission.quotas.usual = {.memory_mb = 1'000};
  world_.start();
  const Caller caller{.tenant = "a"};
  const auto id = world_.run(create("a", sized({.memory_mb = 400}))).value().id;

  EXPECT_EQ(world_.run(world_.engine().fork(caller, id, 2)).error().code(),
            Code::resource_exhausted);
  EXPECT_TRUE(world_.run(world_.engine().fork(caller, id, 1)));
  const auto larger = world_.run(world_.engine().resize(caller, id, {.memory_mb = 601}));
  ASSERT_FALSE(larger);
  EXPECT_THAT(larger.error().message(), HasSubstr("has 800 of 1000 MiB of memory"));
  EXPECT_TRUE(world_.run(world_.engine().resize(caller, id, {.memory_mb = 600})));
  EXPECT_EQ(world_.engine().use_of("a").used.memory_mb, 1'000);
  EXPECT_TRUE(world_.run(world_.engine().resize(caller, id, {.memory_mb = 100})));
  EXPECT_EQ(world_.engine().use_of("a").used.memory_mb, 500);
}

TEST_F(AdmissionTest, AResizeThatFailsKeepsNothing) {
  world_.host().capabilities.resize = true;
  world_.options.admission.quotas.usual = {.memory_mb = 1'000};
  world_.start();
  const auto id = world_.run(create("a", sized({.memory_mb = 400}))).value().id;
  world_.host().fail("resize", Error(Code::unavailable, "not now"));

  EXPECT_FALSE(world_.run(world_.engine().resize(Caller{.tenant = "a"}, id, {.memory_mb = 900})));

  EXPECT_EQ(world_.engine().use_of("a").used.memory_mb, 400);
}

TEST_F(AdmissionTest, CreatesThatFailGiveBackWhatWasKeptForThem) {
  world_.options.admission.quotas.usual = {.sandboxes = 1, .at_once = 1};
  world_.start();
  world_.host().fail("create", Error(Code::internal, "broken"), 3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(world_.run(create("a")));

  EXPECT_EQ(world_.engine().use_of("a").used, policy::Amounts{});
  EXPECT_EQ(world_.engine().use_of("a").at_once, 0U);
  EXPECT_TRUE(world_.run(create("a")));
}

TEST_F(AdmissionTest, ATenantsOwnQuotaComesBeforeTheUsualOne) {
  world_.options.admission.quotas.usual = {.sandboxes = 1};
  world_.options.admission.quotas.tenants["large"] = {.sandboxes = 2};
  world_.start();

  EXPECT_TRUE(world_.run(create("large")));
  EXPECT_TRUE(world_.run(create("large")));
  EXPECT_FALSE(world_.run(create("large")));
  EXPECT_TRUE(world_.run(create("small")));
  EXPECT_FALSE(world_.run(create("small")));
}

TEST_F(AdmissionTest, CreatesHaveARateAndTellWhenToComeAgain) {
  world_.options.admission.quotas.usual = {.creates_per_s = 0.5};
  world_.start();
  EXPECT_TRUE(world_.run(create("a")));

  const auto refused = world_.run(create("a"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().refusal()->limit, "creates_per_s");
  EXPECT_EQ(refused.error().refusal()->retry_after, seconds(2));
  EXPECT_TRUE(world_.run(create("b")));
  world_.advance(seconds(2));
  EXPECT_TRUE(world_.run(create("a")));
}

TEST_F(AdmissionTest, RunsThatAreOverDoNotCountForTheirTenant) {
  world_.options.run_pause = seconds(3'600);  // nothing is cleared away meanwhile
  world_.options.admission.quotas.usual = {.sandboxes = 1};
  world_.start();

  for (int i = 0; i < 5; ++i) {
    const auto ran = world_.run(
        world_.engine().run(Caller{.tenant = "a"}, {}, command("true"), {}, 100, nullptr));
    ASSERT_TRUE(ran) << ran.error().message();
  }
  EXPECT_EQ(world_.host().ids().size(), 5U);
  EXPECT_EQ(world_.engine().use_of("a").used, policy::Amounts{});
}

TEST_F(AdmissionTest, ARunThatCannotBeClearedAwayCountsAgain) {
  world_.options.admission.quotas.usual = {.sandboxes = 1};
  world_.start();
  world_.host().fail("destroy", Error(Code::unavailable, "not now"));

  ASSERT_TRUE(world_.run(
      world_.engine().run(Caller{.tenant = "a"}, {}, command("true"), {}, 100, nullptr)));
  world_.settle();

  EXPECT_EQ(world_.engine().use_of("a").used.sandboxes, 1);
  world_.sweep();
  world_.settle();
  EXPECT_EQ(world_.engine().use_of("a").used.sandboxes, 0);
}

TEST_F(AdmissionTest, WhoMeetsAFullDaemonWaitsAndIsServed) {
  begin_blocking();

  auto waiting = world_.begin(create("a", named("web")));

  EXPECT_FALSE(waiting.done());
  const auto seen = world_.engine().get(Caller{.tenant = "a"}, "web");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->state, State::pending);
  EXPECT_EQ(seen->queue_position, 1U);
  EXPECT_EQ(world_.engine().get(Caller{.tenant = "b"}, "web").error().code(), Code::not_found);
  EXPECT_EQ(world_.engine().use_of("a").waiting, 1U);
  EXPECT_EQ(world_.engine().queue_lengths().admission, 1U);

  finish_blocking();
  ASSERT_TRUE(waiting.done());
  ASSERT_TRUE(waiting.get()) << waiting.get().error().message();
  EXPECT_EQ(waiting.get()->id, seen->id) << "it is called as it was seen";
  const auto& stages = waiting.get()->stages;
  EXPECT_TRUE(std::ranges::any_of(stages, [](const auto& s) { return s.name == "queue"; }));
  EXPECT_FALSE(waiting.get()->queue_position);
}

TEST_F(AdmissionTest, WhatBeginsToWaitIsAnEvent) {
  begin_blocking();
  const uint64_t before = world_.engine().events().last();

  auto waiting = world_.begin(create("a", named("web")));

  const auto page = world_.engine().events().after(before, 10);
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0]->name, "web");
  EXPECT_EQ(page.events[0]->to, State::pending);
  EXPECT_EQ(page.events[0]->queue_position, 1U);
  finish_blocking();
}

TEST_F(AdmissionTest, WhoseTimeIsUpIsToldItsPlace) {
  begin_blocking();
  auto first = world_.begin(create("a"));
  CreateRequest patient = named("patient");
  patient.queue_timeout = seconds(60);
  auto second = world_.begin(create("a", std::move(patient)));
  world_.advance(seconds(10));
  world_.reap();

  ASSERT_TRUE(first.done());
  const Error& error = first.get().error();
  EXPECT_EQ(error.code(), Code::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("1 sandboxes are being made, as many as may be at a time; "
                                         "after 10 s this is number 1 of 2 that wait"));
  EXPECT_EQ(error.refusal()->queue_position, 1U);
  EXPECT_EQ(error.refusal()->queue_length, 2U);
  EXPECT_FALSE(second.done());
  finish_blocking();
  EXPECT_TRUE(second.get());
}

TEST_F(AdmissionTest, WhoDoesNotWantToWaitIsRefusedAtOnce) {
  begin_blocking();
  CreateRequest request;
  request.queue_timeout = Millis(0);

  auto refused = world_.begin(create("a", std::move(request)));

  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().error().refusal()->limit, "creations");
  EXPECT_THAT(refused.get().error().hint(), HasSubstr("queue_timeout_ms"));
  finish_blocking();
}

TEST_F(AdmissionTest, NobodyWaitsLongerThanTheMost) {
  world_.start();
  CreateRequest request;
  request.queue_timeout = std::chrono::hours(1);

  const auto refused = world_.run(create("a", std::move(request)));

  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_THAT(refused.error().message(), HasSubstr("queue_timeout_ms"));
}

TEST_F(AdmissionTest, WhoeverLeavesFreesItsPlaceAtOnce) {
  begin_blocking();
  CreateRequest leaving = named("leaving");
  leaving.stop = std::make_shared<RunStop>();
  const auto stop = leaving.stop;
  auto first = world_.begin(create("a", std::move(leaving)));
  auto second = world_.begin(create("a", named("staying")));
  ASSERT_EQ(world_.engine().get(Caller{.tenant = "a"}, "staying")->queue_position, 2U);

  stop->stop();
  world_.settle();

  EXPECT_EQ(world_.engine().get(Caller{.tenant = "a"}, "staying")->queue_position, 1U);
  EXPECT_EQ(first.get().error().code(), Code::cancelled);
  finish_blocking();
  EXPECT_TRUE(second.get());
  EXPECT_EQ(world_.host().ids().size(), 2U);
}

TEST_F(AdmissionTest, ACallerThatIsCancelledFreesItsPlaceToo) {
  begin_blocking();
  asio::cancellation_signal cancel;
  auto waiting = world_.begin(create("a", named("gone")), cancel);
  ASSERT_EQ(world_.engine().queue_lengths().admission, 1U);

  cancel.emit(asio::cancellation_type::all);
  world_.settle();

  EXPECT_EQ(world_.engine().queue_lengths().admission, 0U);
  finish_blocking();
  EXPECT_EQ(world_.host().ids().size(), 1U);
}

TEST_F(AdmissionTest, ARunThatIsGivenUpWhileItWaitsNeverBegins) {
  begin_blocking();
  const auto stop = std::make_shared<RunStop>();
  auto run =
      world_.begin(world_.engine().run(Caller{.tenant = "a"}, {}, command("true"), {}, 100, stop));
  ASSERT_FALSE(run.done());

  stop->stop();
  world_.settle();

  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.get().error().code(), Code::cancelled);
  finish_blocking();
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(AdmissionTest, DestroyingWhatWaitsTakesItOutOfTheQueue) {
  begin_blocking();
  auto waiting = world_.begin(create("a", named("web")));

  EXPECT_EQ(world_.run(world_.engine().destroy(Caller{.tenant = "b"}, "web")).error().code(),
            Code::not_found);
  EXPECT_TRUE(world_.run(world_.engine().destroy(Caller{.tenant = "a"}, "web")));

  EXPECT_EQ(waiting.get().error().code(), Code::conflict);
  finish_blocking();
}

TEST_F(AdmissionTest, TheEndOfTheDaemonIsToldToThoseWhoWait) {
  begin_blocking();
  auto waiting = world_.begin(create("a"));

  world_.engine().close_admission();
  world_.settle();

  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.get().error().code(), Code::unavailable);
  EXPECT_THAT(waiting.get().error().message(), HasSubstr("shutting down"));
  EXPECT_EQ(world_.run(create("b")).error().code(), Code::unavailable);
  finish_blocking();
}

TEST_F(AdmissionTest, TwoThatWaitForTheSameNameGetTheSameSandbox) {
  begin_blocking();
  auto first = world_.begin(create("a", named("web")));
  auto second = world_.begin(create("a", named("web")));

  finish_blocking();
  world_.settle();

  ASSERT_TRUE(first.done());
  ASSERT_TRUE(second.done());
  EXPECT_EQ(first.get()->id, second.get()->id);
  EXPECT_EQ(world_.host().ids().size(), 2U);
}

TEST_F(AdmissionTest, TwoThatWaitWithTheSameKeyGetTheSameSandbox) {
  begin_blocking();
  const auto keyed = [&] {
    return world_.engine().create(Caller{.tenant = "a"}, {}, Idempotency{"key", "hash"});
  };
  auto first = world_.begin(keyed());
  auto second = world_.begin(keyed());

  finish_blocking();
  world_.settle();

  EXPECT_EQ(first.get()->id, second.get()->id);
  EXPECT_EQ(world_.host().ids().size(), 2U);
}

TEST_F(AdmissionTest, ATenantAtItsLimitWaitsAndOthersPass) {
  world_.options.admission.quotas.usual = {.at_once = 1};
  world_.options.admission.queue_timeout = seconds(10);
  world_.start();
  const auto stop = std::make_shared<RunStop>();
  auto running =
      world_.begin(world_.engine().run(Caller{.tenant = "a"}, {}, command("hang"), {}, 100, stop));

  auto waiting = world_.begin(
      world_.engine().run(Caller{.tenant = "a"}, {}, command("true"), {}, 100, nullptr));

  EXPECT_FALSE(waiting.done()) << "a run has its turn until it is over";
  EXPECT_TRUE(world_.run(create("b")));
  EXPECT_EQ(world_.engine().use_of("a").at_once, 1U);
  stop->stop();
  world_.settle();
  EXPECT_TRUE(running.done());
  ASSERT_TRUE(waiting.done());
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(world_.engine().use_of("a").at_once, 0U);
}

TEST_F(AdmissionTest, TheHostHasRoomAgainWhenASandboxEnds) {
  world_.options.admission.quotas.host = {.memory_mb = 1'000};
  world_.options.admission.queue_timeout = seconds(10);
  world_.start();
  const auto first = world_.run(create("a", sized({.memory_mb = 800}))).value().id;
  auto large = world_.begin(create("b", sized({.memory_mb = 300})));
  auto small = world_.begin(create("c", sized({.memory_mb = 100})));

  EXPECT_FALSE(large.done());
  EXPECT_FALSE(small.done()) << "who came later and needs less does not pass";
  ASSERT_TRUE(world_.run(world_.engine().destroy(Caller{.tenant = "a"}, first)));
  world_.settle();
  EXPECT_TRUE(large.get());
  EXPECT_TRUE(small.get());
}

TEST_F(AdmissionTest, NobodyWaitsForWhatThereNeverIs) {
  world_.options.admission.quotas.host = {.memory_mb = 1'000};
  world_.options.admission.queue_timeout = seconds(10);
  world_.start();

  auto refused = world_.begin(create("b", sized({.memory_mb = 1'001})));

  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().error().refusal()->limit, "host_memory_mb");
}

TEST_F(AdmissionTest, NobodyWaitsForWhatNoDriverMakes) {
  begin_blocking();
  CreateRequest request;
  request.min_isolation = Isolation::vm;

  auto refused = world_.begin(create("a", std::move(request)));

  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().error().code(), Code::unsupported);
  finish_blocking();
}

TEST_F(AdmissionTest, AFullQueueMakesRoomForWhoHasLessInIt) {
  world_.options.admission.longest_queue = 3;
  begin_blocking();
  std::vector<Pending<SandboxView>> greedy;
  for (int i = 0; i < 3; ++i) greedy.push_back(world_.begin(create("greedy")));

  auto modest = world_.begin(create("modest"));
  auto again = world_.begin(create("greedy"));

  EXPECT_FALSE(modest.done());
  ASSERT_TRUE(greedy[2].done()) << "the last of the longest line goes";
  EXPECT_EQ(greedy[2].get().error().refusal()->limit, "queue");
  EXPECT_FALSE(greedy[1].done());
  ASSERT_TRUE(again.done());
  EXPECT_THAT(again.get().error().message(), HasSubstr("3 requests wait already"));
  finish_blocking();
  EXPECT_TRUE(modest.get());
}

TEST_F(AdmissionTest, RetryAfterIsFromWhatWasSeen) {
  begin_blocking();
  // One is served every 4 seconds.
  std::vector<Pending<SandboxView>> served;
  for (int i = 0; i < 3; ++i) served.push_back(world_.begin(create("a")));
  for (int i = 0; i < 3; ++i) {
    world_.advance(seconds(4));
    world_.host().release("create");
    world_.host().hold("create");
    world_.settle();
  }
  CreateRequest request;
  request.queue_timeout = Millis(0);

  const auto refused = world_.begin(create("b", std::move(request)));

  ASSERT_TRUE(refused.done());
  EXPECT_EQ(refused.get().error().refusal()->retry_after, seconds(4));
  world_.host().release("create");
  world_.settle();
}

// Half of all requests are one tenant's, and they come tenant by tenant.
TEST_F(AdmissionTest, TenThousandCreatesOfFiftyTenantsStayFair) {
  world_.options.admission.longest_queue = 10'000;
  world_.options.most_sandboxes = world_.options.most_sandboxes_per_tenant = 20'000;
  begin_blocking();
  std::vector<int> served(50);
  int all = 0;
  double worst = 0;
  const auto on_served = [&](int tenant) {
    ++served[static_cast<size_t>(tenant)];
    if (++all > 5'000 || all % 500 != 0) return;  // until then everybody has somebody waiting
    const auto [least, most] = std::ranges::minmax(served);
    worst = std::max(worst, static_cast<double>(most) / least);
  };
  for (int tenant = 0; tenant < 50; ++tenant) {
    const int count = tenant == 0 ? 5'100 : 100;
    for (int i = 0; i < count; ++i)
      spawn(world_.loop().get_executor(), create_and_tell(world_.engine(), tenant, on_served),
            [](Result<>) {});
  }
  world_.settle();
  ASSERT_EQ(world_.engine().queue_lengths().admission, 10'000U);

  world_.host().release("create");
  world_.settle();

  EXPECT_EQ(all, 10'000);
  EXPECT_GE(worst, 1.0);
  EXPECT_LE(worst, 1.2);
}

TEST_F(AdmissionTest, AJudgeIsAskedBeforeAnythingIsMade) {
  const auto judge = std::make_shared<FakeJudge>();
  world_.options.judge = judge;
  world_.host().capabilities.fork = true;
  world_.host().capabilities.resize = true;
  world_.start();
  CreateRequest request = named("web");
  request.labels = {{"team", "search"}};
  request.env = {{"PASSWORD", "hunter2"}};
  request.resources.memory_mb = 64;
  const Caller caller{.tenant = "a", .subject = "key1", .role = Role::agent};

  const auto made = world_.run(world_.engine().create(caller, std::move(request), {}));

  ASSERT_TRUE(made) << made.error().message();
  ASSERT_EQ(judge->asked.size(), 1U);
  EXPECT_THAT(judge->asked[0], HasSubstr(R"("action":"create")"));
  EXPECT_THAT(judge->asked[0],
              HasSubstr(R"("caller":{"tenant":"a","subject":"key1","role":"agent"})"));
  EXPECT_THAT(judge->asked[0], HasSubstr(R"("memory_mb":64)"));
  EXPECT_THAT(judge->asked[0], HasSubstr(R"("labels":{"team":"search"})"));
  EXPECT_THAT(
      judge->asked[0],
      HasSubstr(R"("drivers":[{"name":"fake","isolation":"container","placement":"host"}])"));
  EXPECT_THAT(judge->asked[0], testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(judge->asked[0], testing::Not(HasSubstr("PASSWORD")));

  judge->verdict = Error(Code::permission_denied, "no");
  EXPECT_EQ(world_.run(world_.engine().create(caller, {}, {})).error().code(),
            Code::permission_denied);
  EXPECT_EQ(
      world_.run(world_.engine().run(caller, {}, command("true"), {}, 100, nullptr)).error().code(),
      Code::permission_denied);
  EXPECT_EQ(world_.run(world_.engine().fork(caller, made->id, 3)).error().code(),
            Code::permission_denied);
  EXPECT_THAT(judge->asked.back(), HasSubstr(R"("count":3)"));
  EXPECT_EQ(world_.run(world_.engine().resize(caller, made->id, {.memory_mb = 99})).error().code(),
            Code::permission_denied);
  EXPECT_THAT(judge->asked.back(), HasSubstr(R"("memory_mb":99)"));
  EXPECT_EQ(world_.host().ids().size(), 1U);
  EXPECT_EQ(world_.host().count("create"), 1U);
}

TEST_F(AdmissionTest, WhatIsThereAlreadyNeedsNoJudge) {
  const auto judge = std::make_shared<FakeJudge>();
  world_.options.judge = judge;
  world_.start();
  const auto first = world_.run(create("a", named("web")));
  judge->verdict = Error(Code::unavailable, "down");

  const auto again = world_.run(create("a", named("web")));

  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, first->id);
}

}  // namespace
}  // namespace atl
