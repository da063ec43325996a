// Pools over fake hosts: who gets what was made ahead, and what becomes of it.
#include <fcntl.h>

#include "core/engine_world_internal.h"
#include "core/pool_keeper.h"
#include "core/pool_shape.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> names_of(const std::vector<Stage>& stages) {
  std::vector<std::string> names;
  for (const auto& stage : stages) names.push_back(stage.name);
  return names;
}

class PoolsTest : public ::testing::Test {
 protected:
  explicit PoolsTest(EngineWorld::Keeps keeps = EngineWorld::Keeps::memory) : world_(keeps) {
    world_.options.pooling = Pooling::on;
  }

  FakeHost& start(std::string profiles = "") {
    auto& host = world_.add();
    host.capabilities.pause = Pause::memory;
    start_with(std::move(profiles));
    return host;
  }
  void start_with(std::string profiles) {
    if (!profiles.empty()) {
      const std::vector<policy::ProfileText> texts{{"t.yaml", "profiles:\n" + profiles}};
      world_.options.profiles = policy::Profiles::load(texts).value();
    }
    world_.start();
    world_.settle();
  }
  void tend() {
    world_.engine().tend_pools();
    world_.settle();
  }
  // Ready with so many.
  PoolView make_pool(policy::PoolAsk size, PoolSpec spec = {}) {
    spec.size = size;
    const auto made = world_.run(world_.engine().create_pool("p", std::move(spec)));
    EXPECT_TRUE(made) << made.error().message();
    world_.settle();
    return pool();
  }
  PoolView pool(const std::string& name = "p") { return world_.engine().get_pool(name).value(); }
  std::vector<SandboxView> parked() {
    auto page = world_.engine().list(admin_, {.tenant = "*", .limit = 1000}).value();
    std::erase_if(page.sandboxes, [](const SandboxView& view) { return !view.is_parked; });
    return page.sandboxes;
  }
  static bool is_hit(const SandboxView& view) { return view.pool == "p"; }

  EngineWorld world_;
  const Caller admin_{.subject = "root", .role = Role::admin};
};

class PoolsAndDisk : public PoolsTest {
 protected:
  PoolsAndDisk() : PoolsTest(EngineWorld::Keeps::file) {}
};

TEST_F(PoolsTest, ARequestGetsWhatWasMadeAheadAsIfMadeForIt) {
  auto& host = start();
  EXPECT_EQ(make_pool({.target = 2}).ready, 2U);
  const auto waiting = host.ids();
  CreateRequest request;
  request.name = "web";
  request.ttl = std::chrono::seconds(90);
  request.idle = std::chrono::seconds(30);
  request.labels = {{"team", "search"}};
  request.user_id = "ada";
  world_.advance(std::chrono::seconds(20));

  const auto view = world_.create(std::move(request), Idempotency{"k", "h"}).value();

  EXPECT_THAT(waiting, Contains(view.id));
  EXPECT_EQ(view.tenant, "default");
  EXPECT_EQ(view.name, "web");
  EXPECT_EQ(view.user_id, "ada");
  EXPECT_EQ(view.labels.at("team"), "search");
  EXPECT_EQ(view.idle, std::chrono::seconds(30));
  EXPECT_EQ(view.created_at, world_.clock.wall());
  EXPECT_EQ(view.expires_at, world_.clock.wall() + std::chrono::seconds(90));
  EXPECT_EQ(host.boxes.at(view.id)->spec.expires_at, world_.clock.boot() + std::chrono::seconds(90))
      << "the driver knows its time, too";
  EXPECT_FALSE(view.is_parked);
  EXPECT_EQ(view.pool, "p");
  EXPECT_THAT(names_of(view.stages), ElementsAre("route", "pool", "intent", "commit"));
  EXPECT_EQ(world_.engine().get({}, "web")->id, view.id) << "the name is its own";
  EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, view.id) << "so is the key";
}

TEST_F(PoolsTest, ItsEventsBeginWithWhoeverGetsIt) {
  start();
  make_pool({.target = 1});
  EXPECT_EQ(world_.engine().events().last(), 0U) << "what is nobody's is not told of";

  const auto id = world_.create()->id;

  std::vector<State> told;
  for (const auto& event : world_.engine().events().after(0, 100).events) {
    EXPECT_EQ(event->sandbox, id);
    EXPECT_EQ(event->tenant, "default");
    told.push_back(event->to);
  }
  EXPECT_THAT(told, ElementsAre(State::starting, State::running));
}

TEST_F(PoolsTest, WhatIsParkedIsNobodys) {
  start();
  make_pool({.target = 1});
  const auto waiting = parked();
  ASSERT_THAT(waiting, SizeIs(1));
  const std::string id = waiting.front().id;

  EXPECT_EQ(waiting.front().tenant, "");
  EXPECT_EQ(waiting.front().pool, "p");
  EXPECT_THAT(world_.engine().list({}, {})->sandboxes, IsEmpty());
  EXPECT_EQ(world_.engine().get({}, id).error().code(), Code::not_found);
  EXPECT_EQ(world_.engine().count_of("default"), 0U);
  EXPECT_EQ(world_.engine().guest(admin_, id).error().code(), Code::conflict)
      << "nobody leaves anything in it";
  EXPECT_EQ(world_.run(world_.engine().pause(admin_, id)).error().code(), Code::conflict);
  EXPECT_TRUE(world_.engine().get(admin_, id)) << "an administrator may look";
}

TEST_F(PoolsTest, AnAdministratorMayEndOneAndAnotherIsMade) {
  auto& host = start();
  make_pool({.target = 1});
  const auto id = parked().front().id;

  ASSERT_TRUE(world_.run(world_.engine().destroy(admin_, id)));
  tend();

  EXPECT_FALSE(host.has(id));
  EXPECT_EQ(pool().ready, 1U);
}

TEST_F(PoolsTest, NoQuotaCountsWhatIsParked) {
  world_.options.most_sandboxes = 1;
  world_.options.most_sandboxes_per_tenant = 1;
  start();
  make_pool({.target = 3});

  EXPECT_TRUE(world_.create());
  EXPECT_EQ(world_.create().error().code(), Code::resource_exhausted);
}

TEST_F(PoolsTest, AnEmptyPoolIsOnlySlower) {
  auto& host = start();
  make_pool({.target = 1});
  host.hold("create");
  ASSERT_TRUE(is_hit(world_.create().value()));

  const auto second = world_.begin(world_.engine().create({}, {}, {}));
  EXPECT_FALSE(second.done()) << "it is being made";
  host.release("create");
  world_.settle();

  ASSERT_TRUE(second.done());
  EXPECT_FALSE(is_hit(second.get().value()));
  EXPECT_EQ(pool().hits.count, 1U);
  EXPECT_EQ(pool().misses.count, 1U);
}

// What a pooled sandbox cannot have is made afresh.
TEST_F(PoolsTest, OnlyWhatIsTheSameInEverythingThatCannotBeGivenLater) {
  start();
  make_pool({.target = 8, .max = 8});
  tend();
  const auto hits = [&](const std::function<void(CreateRequest&)>& ask) {
    CreateRequest request;
    ask(request);
    auto made = world_.create(std::move(request));
    EXPECT_TRUE(made) << made.error().message();
    return made && is_hit(*made);
  };
  EXPECT_FALSE(hits([](auto& request) { request.env["A"] = "1"; }));
  EXPECT_FALSE(hits([](auto& request) { request.resources.memory_mb = 64; }));
  EXPECT_FALSE(hits([](auto& request) { request.pull = Pull::always; }));
  EXPECT_FALSE(hits([](auto& request) {
    request.mounts.push_back(
        {Fd(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), "/", "/srv", HostAccess::ro});
  }));
  EXPECT_TRUE(hits([](auto& request) { request.labels["a"] = "b"; }));
  EXPECT_TRUE(hits([](auto& request) { request.defaults.cwd = "/tmp"; }));
  EXPECT_TRUE(hits([](auto& request) { request.defaults.timeout = Millis(5); }));
  EXPECT_TRUE(hits([](auto& request) { request.driver = "fake"; }));
  EXPECT_EQ(pool().misses.count, 0U) << "those were not for the pool";
}

TEST_F(PoolsTest, FilesAreWrittenBeforeItIsHandedOver) {
  auto& host = start();
  make_pool({.target = 1});
  CreateRequest request;
  request.files.push_back({"a.txt", "hello"});

  const auto view = world_.create(std::move(request)).value();

  EXPECT_TRUE(is_hit(view));
  EXPECT_EQ(host.boxes.at(view.id)->files.at("/workspace/a.txt").bytes, "hello");
}

TEST_F(PoolsTest, ARunTakesOneAndItIsGoneAfterwards) {
  auto& host = start();
  make_pool({.target = 1});
  const auto id = parked().front().id;
  host.hold("create");
  ExecRequest exec;
  exec.argv = {"echo", "hi"};

  const auto result = world_.run(world_.engine().run({}, {}, std::move(exec), "", 100)).value();
  world_.settle();

  EXPECT_EQ(result.exec.out, "hi\n");
  EXPECT_THAT(names_of(result.stages), Contains("pool"));
  EXPECT_FALSE(host.has(id));
}

constexpr const char* kSetUp = R"(
  ready:
    min_isolation: process
    env: {LANG: C}
    setup: [echo prepared]
    requires: [git]
    pool: {min: 1, max: 2}
)";

TEST_F(PoolsTest, AProfileHasAPoolWhoseSandboxesAreSetUp) {
  auto& host = start(kSetUp);
  ASSERT_EQ(pool("ready@1").ready, 1U);
  EXPECT_EQ(pool("ready@1").source, PoolSource::profile);
  const auto id = parked().front().id;
  const auto commands = host.boxes.at(id)->processes.size();
  EXPECT_EQ(commands, 2U) << "setup and requires";
  CreateRequest request;
  request.profile = "ready";

  const auto view = world_.create(std::move(request)).value();

  EXPECT_EQ(view.id, id);
  EXPECT_EQ(view.profile, "ready@1");
  EXPECT_EQ(host.boxes.at(id)->processes.size(), commands) << "nothing is done twice";
  EXPECT_THAT(names_of(view.stages), Not(Contains("setup")));
}

TEST_F(PoolsTest, FilesThatASetupIsToFindTakeAFreshOne) {
  start(kSetUp);
  CreateRequest request;
  request.profile = "ready";
  request.files.push_back({"requirements.txt", "numpy"});

  EXPECT_EQ(world_.create(std::move(request))->pool, "");
}

TEST_F(PoolsTest, WhoeverRunsAsAnotherTakesAFreshOneWhereASetupWasDone) {
  start(kSetUp);
  CreateRequest request;
  request.profile = "ready";
  request.defaults.cwd = "/tmp";

  EXPECT_EQ(world_.create(std::move(request))->pool, "");
}

TEST_F(PoolsTest, AProfilesPoolIsChangedInTheProfile) {
  start(kSetUp);
  EXPECT_EQ(world_.run(world_.engine().remove_pool("ready@1")).error().code(), Code::conflict);
  EXPECT_THAT(world_.run(world_.engine().change_pool("ready@1", {.max = 9})).error().hint(),
              HasSubstr("profile"));
}

TEST_F(PoolsTest, ASetupThatFailsLeavesNothingAndIsTriedAgainLater) {
  auto& host = start(R"(
  broken: {min_isolation: process, setup: ["false"], pool: {min: 1}}
)");
  EXPECT_EQ(pool("broken@1").failures, 1U);
  EXPECT_THAT(pool("broken@1").trouble, HasSubstr("setup"));
  EXPECT_THAT(host.ids(), IsEmpty());
  tend();
  EXPECT_EQ(pool("broken@1").failures, 1U) << "not at once";

  world_.advance(std::chrono::seconds(1));
  tend();
  EXPECT_EQ(pool("broken@1").failures, 2U);
  world_.advance(std::chrono::seconds(1));
  tend();
  EXPECT_EQ(pool("broken@1").failures, 2U) << "and each time later";
  world_.advance(std::chrono::seconds(1));
  tend();
  EXPECT_EQ(pool("broken@1").failures, 3U);
}

TEST_F(PoolsTest, AFewAreMadeAtATime) {
  auto& host = start();
  host.hold("create");
  make_pool({.target = 9, .max = 9});

  EXPECT_EQ(host.count("create"), PoolKeeper::kMostFillsPerPool);
  EXPECT_EQ(pool().filling, PoolKeeper::kMostFillsPerPool);
  host.release("create");
  world_.settle();
  EXPECT_EQ(pool().ready, 9U);
  EXPECT_EQ(pool().fills.count, 9U);
}

TEST_F(PoolsTest, AllPoolsTogetherHaveALimit) {
  world_.options.most_parked = 3;
  start();
  EXPECT_EQ(make_pool({.target = 9, .max = 9}).ready, 3U);
}

TEST_F(PoolsTest, DemandMakesItGrowAndQuietMakesItShrink) {
  auto& host = start();
  make_pool({.min = 1, .target = 1, .max = 4, .idle_s = 60});
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(world_.create());
  world_.settle();
  EXPECT_EQ(pool().level, 4U);
  EXPECT_EQ(pool().ready, 4U);

  world_.advance(std::chrono::seconds(61));
  tend();

  EXPECT_EQ(pool().ready, 1U);
  EXPECT_EQ(pool().discarded, 3U);
  EXPECT_THAT(host.ids(), SizeIs(6 + 1));
}

TEST_F(PoolsTest, WhatHasWaitedTooLongIsReplaced) {
  auto& host = start();
  make_pool({.min = 1, .max_age_s = 600});
  const auto id = parked().front().id;
  EXPECT_EQ(host.boxes.at(id)->spec.expires_at,
            world_.clock.boot() + std::chrono::seconds(600 + 60))
      << "it ends even if nobody is there to end it";

  world_.advance(std::chrono::seconds(601));
  tend();

  EXPECT_FALSE(host.has(id));
  EXPECT_EQ(pool().ready, 1U);
}

TEST_F(PoolsTest, WhatDiesIsReplacedAndNeverHandedOut) {
  auto& host = start();
  make_pool({.target = 1});
  const auto id = parked().front().id;
  host.end(id, EndedBy::death);
  world_.settle();

  EXPECT_FALSE(host.has(id));
  EXPECT_NE(world_.create()->id, id);
  world_.advance(PoolKeeper::kFirstPause);
  tend();
  EXPECT_EQ(pool().ready, 1U);
}

TEST_F(PoolsTest, WhatDiesAgainAndAgainIsMadeLessAndLessOften) {
  auto& host = start();
  make_pool({.min = 1});
  size_t made = 0;
  for (int second = 0; second < 120; ++second) {
    for (const auto& view : parked()) host.end(view.id, EndedBy::death);
    world_.settle();
    world_.advance(std::chrono::seconds(1));
    tend();
  }
  made = host.count("create");
  EXPECT_LE(made, 9U) << "after 1, 2, 4, 8, 16, 32 and 60 seconds";
  EXPECT_GE(made, 6U);
}

TEST_F(PoolsTest, ABackendThatKeepsThemBrieflyDoesNotMakeItSpin) {
  auto& host = world_.add();
  host.capabilities.max_lifetime_s = 10;
  start_with("");
  make_pool({.min = 1});
  EXPECT_EQ(host.count("create"), 1U);
  world_.advance(std::chrono::seconds(6));
  tend();
  EXPECT_EQ(host.count("create"), 2U) << "the other half is for whoever gets it";
  EXPECT_EQ(pool().ready, 1U);
}

TEST_F(PoolsTest, WhatDiedUnheardIsMadeAfreshForWhoeverTakesIt) {
  auto& host = start();
  make_pool({.target = 1});
  const auto id = parked().front().id;
  host.fail("renew", Error(Code::not_found, "no such sandbox"));

  const auto view = world_.create().value();

  EXPECT_EQ(view.state, State::running);
  EXPECT_FALSE(is_hit(view));
  EXPECT_EQ(pool().misses.count, 1U);
  EXPECT_TRUE(host.is_running(view.id));
  EXPECT_EQ(host.count("destroy"), 1U) << "nothing of the dead one is left";
}

TEST_F(PoolsTest, ADeadDriverEmptiesThePoolWhichIsFullAgainWhenItIsBack) {
  auto& host = start();
  make_pool({.target = 2});
  host.down();
  world_.sweep();
  tend();
  EXPECT_EQ(pool().ready, 0U);
  EXPECT_EQ(world_.create().error().code(), Code::unavailable);

  host.up();
  world_.sweep();
  world_.advance(PoolKeeper::kLongestPause);
  tend();

  EXPECT_EQ(pool().ready, 2U);
  EXPECT_THAT(host.ids(), SizeIs(2)) << "those of before are gone";
}

TEST_F(PoolsTest, MembersGetNothingBelowTheirFloor) {
  auto& weak = world_.add("weak", Isolation::process);
  world_.add("strong", Isolation::vm);
  world_.options.members_floor = Isolation::container;
  start_with("");
  PoolSpec spec;
  make_pool({.target = 1}, spec);
  EXPECT_EQ(parked().front().driver, "strong") << "what members may not have is for few";

  EXPECT_TRUE(is_hit(world_.create().value()));
  EXPECT_THAT(weak.ids(), IsEmpty());
}

TEST_F(PoolsTest, OfADriverBelowTheMembersFloorIsForAdministrators) {
  world_.add("weak", Isolation::process);
  world_.add("strong", Isolation::vm);
  world_.options.members_floor = Isolation::container;
  start_with("");
  PoolSpec spec;
  spec.driver = "weak";
  EXPECT_EQ(make_pool({.target = 1}, spec).ready, 1U);
  const auto request = [] {
    CreateRequest asked;
    asked.driver = "weak";
    return asked;
  };

  const auto refused = world_.create(request());
  const auto view = world_.run(world_.engine().create(admin_, request(), {}));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::permission_denied);
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_TRUE(is_hit(*view));
}

TEST_F(PoolsTest, TheRouteDecidesWhoMakesItNotThePool) {
  world_.add("near", Isolation::container);
  world_.add("strong", Isolation::vm);
  start_with("");
  make_pool({.target = 1});
  ASSERT_EQ(parked().front().driver, "near");
  CreateRequest request;
  request.min_isolation = Isolation::vm;

  const auto view = world_.create(std::move(request)).value();

  EXPECT_EQ(view.driver, "strong");
  EXPECT_FALSE(is_hit(view));
}

TEST_F(PoolsTest, ABackendThatEndsThemItselfMustHaveTimeEnough) {
  auto& host = world_.add();
  host.capabilities.max_lifetime_s = 300;
  start_with("");
  make_pool({.target = 1});
  world_.advance(std::chrono::seconds(100));
  CreateRequest request;
  request.ttl = std::chrono::seconds(300);
  EXPECT_FALSE(is_hit(world_.create(std::move(request)).value()));
  CreateRequest shorter;
  shorter.ttl = std::chrono::seconds(200);
  EXPECT_TRUE(is_hit(world_.create(std::move(shorter)).value()));
}

TEST_F(PoolsTest, AReleasedSandboxIsDestroyedAndNeverHandedOutAgain) {
  auto& host = start();
  make_pool({.target = 1});
  const auto first = world_.create().value();
  host.boxes.at(first.id)->files["/workspace/secret"] = {.bytes = "x"};

  ASSERT_TRUE(world_.run(world_.engine().destroy({}, first.id)));
  world_.settle();

  const auto second = world_.create().value();
  EXPECT_TRUE(is_hit(second));
  EXPECT_NE(second.id, first.id);
  EXPECT_FALSE(host.boxes.at(second.id)->files.contains("/workspace/secret"));
}

TEST_F(PoolsTest, DrainingEndsWhatWaitsAndFillsAnew) {
  auto& host = start();
  make_pool({.target = 2});
  const auto before = host.ids();
  ASSERT_TRUE(world_.engine().drain_pool("p"));
  world_.settle();

  EXPECT_EQ(pool().ready, 2U);
  for (const auto& id : before) EXPECT_FALSE(host.has(id));
}

TEST_F(PoolsTest, WhatIsBeingMadeWhenThePoolIsRemovedIsNotKept) {
  auto& host = start();
  host.hold("create");
  make_pool({.target = 1});
  ASSERT_TRUE(world_.run(world_.engine().remove_pool("p")));
  host.release("create");
  world_.settle();

  EXPECT_THAT(host.ids(), IsEmpty());
  EXPECT_EQ(world_.engine().get_pool("p").error().code(), Code::not_found);
}

TEST_F(PoolsTest, WhatMakesNoSenseIsRefused) {
  start();
  const auto refused = [&](std::string name, PoolSpec spec) {
    return world_.run(world_.engine().create_pool(std::move(name), std::move(spec))).error();
  };
  EXPECT_THAT(refused("Upper", {}).message(), HasSubstr("name"));
  EXPECT_THAT(refused("a", {.profile = "nobody"}).message(), HasSubstr("no profile"));
  EXPECT_THAT(refused("a", {.size = {.max = 0}}).message(), HasSubstr("max"));
  EXPECT_THAT(refused("a", {.template_ = "base"}).message(), HasSubstr("template"));
  make_pool({.target = 1});
  EXPECT_EQ(refused("p", {.image = "other"}).code(), Code::already_exists);
  EXPECT_EQ(world_.run(world_.engine().create_pool("p", {.size = {.target = 1}}))->name, "p")
      << "the same again is the same";
}

TEST_F(PoolsTest, WithoutADaemonNothingIsMadeAhead) {
  world_.options.pooling = Pooling::off;
  auto& host = start(kSetUp);
  EXPECT_THAT(host.ids(), IsEmpty());
  EXPECT_EQ(world_.run(world_.engine().create_pool("p", {})).error().code(), Code::unsupported);
}

TEST_F(PoolsTest, DownEndsWhatIsParked) {
  auto& host = start();
  make_pool({.target = 2});
  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::end_sandboxes)));
  EXPECT_THAT(host.ids(), IsEmpty());
}

TEST_F(PoolsTest, ASetupThatIsUnderWayDoesNotHoldUpTheEnd) {
  auto& host = start(R"(
  slow: {min_isolation: process, setup: [hang], pool: {min: 1}}
)");
  ASSERT_EQ(pool("slow@1").filling, 1U);
  ASSERT_THAT(host.ids(), SizeIs(1));

  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::end_sandboxes)));

  EXPECT_THAT(host.ids(), IsEmpty());
}

TEST_F(PoolsAndDisk, AfterACrashNothingParkedIsLeftAndThePoolIsFullAgain) {
  auto& host = start();
  make_pool({.target = 2});
  const auto before = host.ids();
  world_.restart();
  world_.settle();

  for (const auto& id : before) EXPECT_FALSE(host.has(id)) << "nobody can know whose it was";
  EXPECT_EQ(pool().ready, 2U) << "the pool itself is remembered";
  EXPECT_THAT(host.ids(), SizeIs(2));
}

TEST_F(PoolsAndDisk, WhatADaemonLeavesInOrderTheNextOneHandsOut) {
  auto& host = start();
  make_pool({.target = 1});
  const auto id = parked().front().id;
  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::leave_sandboxes)));
  world_.restart();
  world_.settle();
  ASSERT_EQ(pool().ready, 1U);
  ASSERT_EQ(parked().front().id, id);
  EXPECT_EQ(host.count("create"), 1U);

  EXPECT_EQ(world_.create()->id, id);
}

TEST_F(PoolsAndDisk, WhatWasLeftInOrderAndThenUsedIsNotParkedAgainAfterACrash) {
  auto& host = start();
  make_pool({.target = 1});
  const auto id = parked().front().id;
  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::leave_sandboxes)));
  world_.restart();
  world_.settle();
  ExecRequest exec;
  exec.argv = {"sleep"};
  const auto run = world_.begin(world_.engine().run({}, {}, std::move(exec), "", 100));
  ASSERT_FALSE(run.done());
  ASSERT_THAT(host.boxes.at(id)->processes, SizeIs(1)) << "somebody is in it";

  world_.restart();
  world_.settle();

  EXPECT_FALSE(host.has(id));
}

TEST_F(PoolsAndDisk, WhatNoPoolWantsAnyMoreIsDestroyed) {
  auto& host = start(kSetUp);
  ASSERT_EQ(pool("ready@1").ready, 1U);
  const auto id = parked().front().id;
  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::leave_sandboxes)));
  world_.crash();
  start_with("\n  ready: {min_isolation: process, setup: [echo other], pool: {min: 1}}\n");

  EXPECT_FALSE(host.has(id)) << "its profile says otherwise now";
  EXPECT_EQ(pool("ready@1").ready, 1U);
}

TEST_F(PoolsAndDisk, ARemovedPoolDoesNotComeBack) {
  start();
  make_pool({.target = 1});
  ASSERT_TRUE(world_.run(world_.engine().remove_pool("p")));
  world_.restart();
  EXPECT_THAT(world_.engine().pools(), IsEmpty());
}

TEST_F(PoolsTest, NothingThatIsWrittenNextToAnotherIsTakenForIt) {
  CreateRequest one;
  one.env = {{"A", "1B"}, {"C", "2"}};
  CreateRequest other;
  other.env = {{"A", "1"}, {"BC", "2"}};
  EXPECT_NE(shape_of(one), shape_of(other));
}

}  // namespace
}  // namespace atl
