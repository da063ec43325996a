// Snapshots and resets as the engine keeps them, over fake drivers.
#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SnapshotsTest : public ::testing::Test {
 protected:
  SnapshotsTest() : world_(EngineWorld::Keeps::file) {
    auto& host = world_.add();
    host.capabilities.snapshot = true;
    host.capabilities.reset = true;
    host.capabilities.templates = true;
    world_.add("other", Isolation::vm);
  }

  std::string create_with(const std::string& bytes) {
    auto made = world_.run(world_.engine().create({}, {.driver = "fake"}, {}));
    EXPECT_TRUE(made);
    world_.host().boxes.at(made->id)->files["/workspace/f"] = {.bytes = bytes};
    return made->id;
  }
  SnapshotView keep(const std::string& id, SnapshotAsk ask = {}) {
    auto kept = world_.run(world_.engine().snapshot({}, id, std::move(ask)));
    EXPECT_TRUE(kept) << kept.error().message();
    return kept ? *kept : SnapshotView{};
  }

  EngineWorld world_;
};

TEST_F(SnapshotsTest, KeepWhereTheHomeWas) {
  const std::vector<policy::ProfileText> texts{
      {"t.yaml", "profiles:\n  a: {home: /home/agent}\n  b: {home: /home/other}\n"}};
  world_.options.profiles = policy::Profiles::load(texts).value();
  world_.host().capabilities.homes = true;
  world_.start();
  const auto made = world_.run(world_.engine().create({}, {.driver = "fake", .profile = "a"}, {}));
  ASSERT_TRUE(made) << made.error().message();
  const auto kept = keep(made->id);
  world_.restart();

  const auto with = [&](std::string profile) {
    return world_.run(
        world_.engine().create({}, {.profile = std::move(profile), .snapshot = kept.id}, {}));
  };
  for (const char* profile : {"", "a"}) {
    const auto again = with(profile);
    ASSERT_TRUE(again) << profile << ": " << again.error().message();
    EXPECT_EQ(world_.host().boxes.at(again->id)->spec.home, "/home/agent") << profile;
  }
  const auto refused = with("b");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("whose home is /home/agent"));
  // The same of one that is made anew after a restart.
  const auto reset = world_.run(world_.engine().reset({}, made->id, {}));
  ASSERT_TRUE(reset) << reset.error().message();
  EXPECT_EQ(world_.host().boxes.at(made->id)->spec.home, "/home/agent");
}

TEST_F(SnapshotsTest, OutliveTheirSandboxAndARestart) {
  world_.start();
  const auto id = create_with("as it was");
  const auto kept = keep(id, {.name = "first", .labels = {{"of", "me"}}});
  ASSERT_TRUE(world_.run(world_.engine().destroy({}, id)));
  world_.restart();

  const auto found = world_.engine().get_snapshot({}, "first");

  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, kept.id);
  EXPECT_EQ(found->sandbox, id);
  EXPECT_EQ(found->driver, "fake");
  EXPECT_EQ(found->bytes, 4096U);
  EXPECT_EQ(found->labels, (std::map<std::string, std::string>{{"of", "me"}}));
  const auto made = world_.run(world_.engine().create({}, {.snapshot = "first"}, {}));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->snapshot, kept.id);
  EXPECT_EQ(world_.exec(made->id, {"cat", "f"}), "as it was");
}

TEST_F(SnapshotsTest, PinTheirDriverWhichMustBeStrongEnough) {
  world_.start();
  const auto kept = keep(create_with(""));

  const auto weaker = world_.run(
      world_.engine().create({}, {.min_isolation = Isolation::vm, .snapshot = kept.id}, {}));
  const auto elsewhere =
      world_.run(world_.engine().create({}, {.driver = "other", .snapshot = kept.id}, {}));
  const auto unknown = world_.run(world_.engine().create({}, {.snapshot = "nothing"}, {}));

  EXPECT_EQ(weaker.error().code(), Code::unsupported);
  EXPECT_EQ(elsewhere.error().code(), Code::invalid_argument);
  EXPECT_EQ(unknown.error().code(), Code::not_found);
}

TEST_F(SnapshotsTest, AreTheirTenantsAlone) {
  world_.start();
  const auto kept = keep(create_with(""), {.name = "mine"});
  const Caller stranger{.tenant = "other", .subject = "key2"};
  const Caller agent{.subject = "key3", .role = Role::agent};

  for (const Caller& caller : {stranger, agent}) {
    EXPECT_THAT(world_.engine().list_snapshots(caller, ""), IsEmpty());
    EXPECT_EQ(world_.engine().get_snapshot(caller, kept.id).error().code(), Code::not_found);
    EXPECT_EQ(world_.engine().get_snapshot(caller, "mine").error().code(), Code::not_found);
    EXPECT_EQ(world_.run(world_.engine().drop_snapshot(caller, kept.id)).error().code(),
              Code::not_found);
    EXPECT_EQ(world_.run(world_.engine().create(caller, {.snapshot = kept.id}, {})).error().code(),
              Code::not_found);
  }
  EXPECT_THAT(world_.engine().list_snapshots({.role = Role::admin}, ""), SizeIs(1));
}

TEST_F(SnapshotsTest, HaveNamesOfTheirOwnAndALimit) {
  world_.options.most_snapshots_per_tenant = 2;
  world_.start();
  const auto id = create_with("");
  keep(id, {.name = "first"});

  const auto again = world_.run(world_.engine().snapshot({}, id, {.name = "first"}));
  const auto bad = world_.run(world_.engine().snapshot({}, id, {.name = "No Name"}));
  keep(id);
  const auto more = world_.run(world_.engine().snapshot({}, id, {}));

  EXPECT_EQ(again.error().code(), Code::already_exists);
  EXPECT_EQ(bad.error().code(), Code::invalid_argument);
  EXPECT_EQ(more.error().code(), Code::resource_exhausted);
  ASSERT_TRUE(world_.run(world_.engine().drop_snapshot({}, "first")));
  keep(id, {.name = "first"});
}

TEST_F(SnapshotsTest, OfMemoryAreRefusedWhereTheDriverKeepsFilesAlone) {
  world_.start();
  const auto id = create_with("");

  const auto kept = world_.run(world_.engine().snapshot({}, id, {.kind = SnapshotKind::memory}));

  EXPECT_EQ(kept.error().code(), Code::unsupported);
  EXPECT_THAT(world_.host().snapshots, IsEmpty());
}

TEST_F(SnapshotsTest, ThatFailLeaveNothing) {
  world_.start();
  const auto id = create_with("");
  world_.host().fail("snapshot", Error(Code::out_of_space, "full"));

  EXPECT_EQ(world_.run(world_.engine().snapshot({}, id, {})).error().code(), Code::out_of_space);

  EXPECT_THAT(world_.engine().list_snapshots({}, ""), IsEmpty());
  EXPECT_THAT(world_.run(world_.store().load())->snapshots, IsEmpty());
}

TEST_F(SnapshotsTest, GoWhenTheirDriverLetsThemGo) {
  world_.start();
  const auto kept = keep(create_with(""));
  world_.host().fail("drop_snapshot", Error(Code::conflict, "in use"), 2);

  ASSERT_TRUE(world_.run(world_.engine().drop_snapshot({}, kept.id)));
  EXPECT_THAT(world_.engine().list_snapshots({}, ""), IsEmpty());
  EXPECT_THAT(world_.host().snapshots, SizeIs(1));
  ASSERT_TRUE(world_.run(world_.engine().sweep()));
  EXPECT_THAT(world_.host().snapshots, SizeIs(1));
  ASSERT_TRUE(world_.run(world_.engine().sweep()));

  EXPECT_THAT(world_.host().snapshots, IsEmpty());
  EXPECT_THAT(world_.run(world_.store().load())->snapshots, IsEmpty());
}

TEST_F(SnapshotsTest, AreNotDroppedWhileASandboxIsMadeFromThem) {
  world_.start();
  const auto kept = keep(create_with("as it was"));
  world_.host().hold("create");
  const auto making = world_.begin(world_.engine().create({}, {.snapshot = kept.id}, {}));

  ASSERT_TRUE(world_.run(world_.engine().drop_snapshot({}, kept.id)));
  EXPECT_THAT(world_.host().snapshots, SizeIs(1));
  world_.host().release("create");
  world_.wait_until([&] { return making.done(); });
  ASSERT_TRUE(world_.run(world_.engine().sweep()));

  EXPECT_EQ(world_.exec(making.get()->id, {"cat", "f"}), "as it was");
  EXPECT_THAT(world_.host().snapshots, IsEmpty());
}

TEST_F(SnapshotsTest, ThatNobodyKnowsAreSweptAwayAndLostOnesAreTold) {
  world_.start();
  const auto kept = keep(create_with(""));
  world_.host().snapshots["snpstranger"] = {};

  ASSERT_TRUE(world_.run(world_.engine().sweep()));
  EXPECT_TRUE(world_.host().snapshots.contains("snpstranger"));
  ASSERT_TRUE(world_.run(world_.engine().sweep()));
  EXPECT_FALSE(world_.host().snapshots.contains("snpstranger"));
  world_.host().snapshots.clear();
  ASSERT_TRUE(world_.run(world_.engine().sweep()));

  EXPECT_EQ(world_.engine().get_snapshot({}, kept.id)->state, SnapshotState::lost);
  const auto made = world_.run(world_.engine().create({}, {.snapshot = kept.id}, {}));
  EXPECT_EQ(made.error().code(), Code::not_found);
  EXPECT_THAT(made.error().message(), HasSubstr("has lost"));
}

TEST_F(SnapshotsTest, ThatMayBeAnothersAreNeverSweptAndAreAsGoodAsOthersWhereTheyAreKnown) {
  world_.start();
  const auto kept = keep(create_with(""));
  world_.host().snapshots["snpstranger"] = {};
  world_.host().doubtful_snapshots = {kept.id, "snpstranger"};

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(world_.run(world_.engine().sweep()));
  world_.restart();

  EXPECT_TRUE(world_.host().snapshots.contains("snpstranger"));
  EXPECT_EQ(world_.engine().get_snapshot({}, kept.id)->state, SnapshotState::ready);
  EXPECT_TRUE(world_.run(world_.engine().create({}, {.snapshot = kept.id}, {})));
  ASSERT_TRUE(world_.run(world_.engine().drop_snapshot({}, kept.id)));
  EXPECT_FALSE(world_.host().snapshots.contains(kept.id));
}

TEST_F(SnapshotsTest, ThatAreNotThereAreToldAsSoonAsSomebodyWantsThem) {
  world_.start();
  const auto kept = keep(create_with(""));
  const auto halved = keep(create_with(""));
  world_.host().snapshots.erase(kept.id);
  world_.host().broken_snapshots.insert(halved.id);

  for (const auto& id : {kept.id, halved.id}) {
    const auto made = world_.run(world_.engine().create({}, {.snapshot = id}, {}));

    EXPECT_EQ(made.error().code(), Code::not_found);
    EXPECT_THAT(made.error().message(), HasSubstr("has lost snapshot " + id));
    EXPECT_EQ(world_.engine().get_snapshot({}, id)->state, SnapshotState::lost);
  }
  world_.host().broken_snapshots.clear();
  ASSERT_TRUE(world_.run(world_.engine().sweep()));
  EXPECT_EQ(world_.engine().get_snapshot({}, halved.id)->state, SnapshotState::ready);
}

TEST_F(SnapshotsTest, NeedTheirTemplateOnlyWhereTheRootIsNotInThem) {
  world_.start();
  CreateRequest request{.driver = "fake"};
  request.template_name = "t:1";
  const auto box = world_.run(world_.engine().create({}, std::move(request), {}));
  ASSERT_TRUE(box) << box.error().message();
  const auto kept = keep(box->id);

  const auto without = world_.run(world_.engine().create({}, {.snapshot = kept.id}, {}));
  world_.host().capabilities.images = true;
  world_.restart();
  const auto with_root = world_.run(world_.engine().create({}, {.snapshot = kept.id}, {}));

  EXPECT_EQ(without.error().code(), Code::not_found);
  EXPECT_THAT(without.error().message(), HasSubstr("no template t:1"));
  EXPECT_TRUE(with_root) << with_root.error().message();
}

TEST_F(SnapshotsTest, AResetLeavesNoFileProcessOrEnvironment) {
  world_.start();
  const auto id = world_
                      .run(world_.engine().create(
                          {}, {.driver = "fake", .name = "box", .env = {{"A", "b"}}}, {}))
                      ->id;
  world_.host().boxes.at(id)->files["/workspace/f"] = {.bytes = "secret"};

  const auto reset = world_.run(world_.engine().reset({}, "box", {{"NEW", "c"}}));

  ASSERT_TRUE(reset) << reset.error().message();
  EXPECT_EQ(reset->id, id);
  EXPECT_EQ(reset->state, State::running);
  EXPECT_EQ(reset->resets, 1);
  const auto& box = *world_.host().boxes.at(id);
  EXPECT_FALSE(box.files.contains("/workspace/f"));
  EXPECT_EQ(box.spec.env, (std::map<std::string, std::string>{{"NEW", "c"}}));
}

TEST_F(SnapshotsTest, AResetThatFailsLeavesNothingToUse) {
  world_.start();
  const auto id = create_with("secret");
  world_.host().fail("create", Error(Code::unavailable, "no"));

  EXPECT_FALSE(world_.run(world_.engine().reset({}, id, {})));

  EXPECT_EQ(world_.state_of(id), State::failed);
  EXPECT_FALSE(world_.host().has(id));
  EXPECT_EQ(world_.run(world_.engine().reset({}, id, {}))->state, State::running);
}

TEST_F(SnapshotsTest, AResetIsRefusedWhereTheDriverDoesNotPromiseIt) {
  world_.start();
  const auto id = world_.run(world_.engine().create({}, {.driver = "other"}, {}))->id;

  const auto reset = world_.run(world_.engine().reset({}, id, {}));

  EXPECT_EQ(reset.error().code(), Code::unsupported);
  EXPECT_EQ(reset.error().hint(), "fake can");
}

}  // namespace
}  // namespace atl
