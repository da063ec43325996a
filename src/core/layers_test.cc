#include "core/layers.h"

#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class LayersTest : public ::testing::Test {
 protected:
  LayersTest() : world_(EngineWorld::Keeps::file) {
    world_.add().capabilities.snapshot = true;
    world_.options.layers = KeepLayers::yes;
  }

  void start(const std::string& profile = "{dependencies: {pip: [a]}, setup: ['true']}") {
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
  // The stages of a start that are about packages, each with what it told: "layer=kept as layer X".
  std::vector<std::string> made(CreateRequest request, const std::string& tenant = "") {
    Caller caller;
    if (!tenant.empty()) caller.tenant = tenant;
    auto view = world_.run(world_.engine().create(caller, std::move(request), {}));
    EXPECT_TRUE(view) << view.error().message();
    std::vector<std::string> told;
    if (!view) return told;
    for (const Stage& stage : view->stages) {
      if (stage.name != "dependencies" && stage.name != "setup" && stage.name != "layer") continue;
      told.push_back(stage.name + (stage.log ? "=" + *stage.log : ""));
    }
    return told;
  }
  std::vector<std::string> made() { return made(request()); }
  size_t kept() { return world_.host().snapshots.size(); }

  EngineWorld world_;
};

auto installed() {
  return ElementsAre("dependencies", StartsWith("layer=kept as layer snp"), "setup=1 done");
}
auto had() { return ElementsAre(StartsWith("layer=from layer snp"), "setup=1 done"); }

TEST_F(LayersTest, TheFirstInstallsAndTheNextHasItAlready) {
  start();

  EXPECT_THAT(made(), installed());
  EXPECT_THAT(made(), had());
  EXPECT_THAT(made(), had());

  EXPECT_EQ(kept(), 1U);
  EXPECT_THAT(world_.engine().list_snapshots({}, ""), IsEmpty()) << "it is nobody's";
  world_.restart();
  EXPECT_THAT(made(), had()) << "and outlives the daemon";
}

TEST_F(LayersTest, TheSetupIsInItIfTheProfileSaysSo) {
  start("{layer: setup, setup: ['true']}");

  EXPECT_THAT(made(), ElementsAre("setup=1 done", StartsWith("layer=kept as layer")));
  EXPECT_THAT(made(), ElementsAre(StartsWith("layer=from layer")));
}

TEST_F(LayersTest, NoneIsKeptIfTheProfileSaysSo) {
  start("{layer: none, dependencies: {pip: [a]}}");

  EXPECT_THAT(made(), ElementsAre("dependencies"));
  EXPECT_THAT(made(), ElementsAre("dependencies"));
  EXPECT_EQ(kept(), 0U);
}

TEST_F(LayersTest, RunsHaveThemToo) {
  start();
  EXPECT_THAT(made(), installed());

  const auto ran = world_.run(world_.engine().run({}, request(), ExecRequest{.argv = {"true"}}, "",
                                                  1000, std::make_shared<RunStop>()));

  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_THAT(ran->stages, Contains(::testing::Field(&Stage::name, "layer")));
  EXPECT_THAT(ran->stages, Not(Contains(::testing::Field(&Stage::name, "dependencies"))));
}

TEST_F(LayersTest, ADriverWithoutSnapshotsInstallsEachTimeAndSaysSo) {
  world_.host().capabilities.snapshot = false;
  start();

  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(made(), ElementsAre("dependencies=installed each time: fake keeps no layers",
                                    "setup=1 done"));
  }
}

TEST_F(LayersTest, WithoutADaemonNothingIsKept) {
  world_.options.layers = KeepLayers::no;
  start();

  EXPECT_THAT(made().at(0), HasSubstr("without a daemon nothing is kept"));
  EXPECT_EQ(kept(), 0U);
}

TEST_F(LayersTest, WhatARequestBringsItselfIsInNoLayer) {
  start();
  auto with_files = request();
  with_files.files = {{"a.whl", "x"}};

  EXPECT_THAT(made(std::move(with_files)).at(0), HasSubstr("brings files"));
  EXPECT_EQ(kept(), 0U);
}

TEST_F(LayersTest, WhateverTheInstallerSawMakesAnotherOneAndSizesDoNot) {
  start();
  EXPECT_THAT(made(), installed());
  auto other = request();
  other.env = {{"PIP_INDEX_URL", "https://elsewhere.example"}};
  EXPECT_THAT(made(std::move(other)), installed());
  EXPECT_THAT(made(request(), "others"), installed()) << "a tenant has its own";
  auto larger = request();
  larger.resources.memory_mb = 4'096;
  EXPECT_THAT(made(std::move(larger)), had());
}

TEST_F(LayersTest, AnInstallThatFailsLeavesNeitherSandboxNorLayer) {
  start("{dependencies: {pip: [a], npm: [b]}}");

  const auto refused = world_.create(request());

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().stage(), "dependencies");
  EXPECT_THAT(refused.error().message(), HasSubstr("dependencies: npm: npm: npm: not found"));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(kept(), 0U);
}

TEST_F(LayersTest, ALayerThatCannotBeKeptHarmsNobody) {
  start();
  world_.host().fail("snapshot", Error(Code::out_of_space, "the disk is full"));

  EXPECT_THAT(made(), ElementsAre("dependencies", HasSubstr("layer=not kept: "), "setup=1 done"));
  EXPECT_EQ(kept(), 0U);
  EXPECT_THAT(made(), installed());
}

TEST_F(LayersTest, OneThatSomebodyRemovedIsInstalledAnew) {
  start();
  EXPECT_THAT(made(), installed());
  world_.host().snapshots.clear();

  EXPECT_THAT(made(), installed());
  EXPECT_THAT(made(), had());
}

TEST_F(LayersTest, OldOnesGo) {
  start();
  EXPECT_THAT(made(), installed());
  world_.advance(kLayerLife);

  EXPECT_THAT(made(), installed());
  world_.sweep();
  EXPECT_EQ(kept(), 1U);
  world_.advance(kLayerLife);
  world_.sweep();
  EXPECT_EQ(kept(), 0U);
}

TEST_F(LayersTest, ThereAreNotTooMany) {
  start();
  for (size_t i = 0; i < kMostLayersPerTenant + 3; ++i) {
    auto one = request();
    one.env = {{"N", std::to_string(i)}};
    EXPECT_THAT(made(std::move(one)), installed());
    world_.advance(std::chrono::seconds(1));
  }

  EXPECT_EQ(kept(), kMostLayersPerTenant);
  auto last = request();
  last.env = {{"N", std::to_string(kMostLayersPerTenant)}};
  EXPECT_THAT(made(std::move(last)), had()) << "those that were not used longest have gone";
}

TEST_F(LayersTest, TheNextDriverInstallsByItself) {
  world_.add("other");
  start();
  EXPECT_THAT(made(), installed());
  world_.host().fail("create", Error(Code::unavailable, "busy"));

  EXPECT_THAT(made(), ElementsAre(HasSubstr("dependencies=installed each time"), "setup=1 done"));
}

TEST_F(LayersTest, SystemPackagesTakeRootAndARootOfTheirOwn) {
  world_.host().capabilities.users = false;
  start("{dependencies: {apt: [git]}}");
  const auto refused = world_.create(request());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_THAT(refused.error().hint(), HasSubstr("fake cannot run as root"));

  world_.host().capabilities.users = true;
  world_.restart();
  EXPECT_THAT(world_.create(request()).error().hint(), HasSubstr("name a template"));
}

}  // namespace
}  // namespace atl
