#include "core/known_programs.h"

#include <gmock/gmock.h>

#include "core/engine_world_internal.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::HasSubstr;

std::vector<policy::Requirement> required(const std::string& text) {
  return {policy::parse_requirement(text).value()};
}

TEST(KnownPrograms, TellsWhatIsMissingAndNothingOfWhatItDoesNotKnow) {
  KnownPrograms known;
  known.note("docker", "root", "python3", {true, true, {3, 9}});
  known.note("docker", "root", "git", {});

  EXPECT_EQ(known.find_missing("docker", "root", required("python>=3.11")),
            " has python3 3.9, and python>=3.11 is required");
  EXPECT_EQ(known.find_missing("docker", "root", required("git")),
            " has no git, and git is required");
  EXPECT_EQ(known.find_missing("docker", "root", required("python>=3.9")), std::nullopt);
  EXPECT_EQ(known.find_missing("docker", "root", required("hg")), std::nullopt);
  EXPECT_EQ(known.find_missing("podman", "root", required("git")), std::nullopt);
  EXPECT_EQ(known.find_missing("docker", "other", required("git")), std::nullopt);
}

TEST(KnownPrograms, OneWhoseVersionNobodyAskedMayBeNewEnough) {
  KnownPrograms known;
  known.note("docker", "root", "git", {true, false, {}});

  EXPECT_EQ(known.find_missing("docker", "root", required("git>=2")), std::nullopt);
}

TEST(KnownPrograms, ForgetsTheOldestRoot) {
  KnownPrograms known;
  for (size_t i = 0; i <= KnownPrograms::kMostRoots; ++i)
    known.note("docker", "root" + std::to_string(i), "git", {});

  EXPECT_EQ(known.find_missing("docker", "root0", required("git")), std::nullopt);
  EXPECT_TRUE(known.find_missing("docker", "root1", required("git")));
}

TEST(KnownPrograms, WhatWasThereIsTrustedForAWhile) {
  KnownPrograms known;
  const Micros at = std::chrono::hours(1);
  const Micros later = at + KnownPrograms::kTrusted;
  known.note("native", "own", "python3", {true, true, {3, 9}, at});
  known.note("native", "own", "git", {true, false, {}, at});
  known.note("native", "own", "node", {.at = at});
  known.note("native", "own", "nodejs", {true, false, {}, at});
  const auto has = [&](const std::string& text, Micros now) {
    return known.has_all("native", "own", required(text), now);
  };

  EXPECT_TRUE(has("python", at));
  EXPECT_TRUE(has("python>=3.9", later - Micros(1)));
  EXPECT_TRUE(has("node", at)) << "by its other name";
  EXPECT_FALSE(has("python", later)) << "it is looked for again";
  EXPECT_FALSE(has("python>=3.11", at));
  EXPECT_FALSE(has("git>=2", at)) << "nobody has asked its version";
  EXPECT_FALSE(has("hg", at));
  EXPECT_FALSE(known.has_all("native", "", required("git"), at));
  EXPECT_FALSE(known.has_all("docker", "own", required("git"), at));
}

class KnownRootTest : public ::testing::Test {
 protected:
  KnownRootTest() {
    world_.add().capabilities.images = true;
    const std::vector<policy::ProfileText> texts{{"t.yaml", R"(profiles:
  needy: {requires: [git, hg]}
  old: {requires: [python>=3.12]}
  installing: {setup: ['true'], requires: [hg]}
)"}};
    world_.options.profiles = policy::Profiles::load(texts).value();
    world_.start();
  }
  Error failure_of(const std::string& profile, const std::string& image = kPinned) {
    CreateRequest request;
    request.profile = profile;
    request.image = image;
    auto refused = world_.create(std::move(request));
    EXPECT_FALSE(refused);
    return refused ? Error(Code::internal, "") : refused.error();
  }

  static inline const std::string kPinned = "base@sha256:" + std::string(64, 'a');
  EngineWorld world_;
};

TEST_F(KnownRootTest, TheRouterRefusesWhatAStartHasFoundMissing) {
  EXPECT_EQ(failure_of("needy").stage(), "requires");
  const size_t made = world_.host().count("create");

  const Error again = failure_of("needy");

  EXPECT_EQ(again.stage(), "route");
  EXPECT_EQ(again.code(), Code::unsupported);
  EXPECT_THAT(again.hint(), HasSubstr("fake: image base@sha256:"));
  EXPECT_THAT(again.hint(), HasSubstr("has no hg, and hg is required"));
  EXPECT_EQ(world_.host().count("create"), made) << "nothing was made";
}

TEST_F(KnownRootTest, AVersionIsKnownToo) {
  EXPECT_EQ(failure_of("old").stage(), "requires");

  EXPECT_THAT(failure_of("old").hint(),
              HasSubstr("has python3 3.11.2, and python>=3.12 is required"));
}

TEST_F(KnownRootTest, WhatMayChangeUnderItsNameOrIsInstalledIsLookedForEachTime) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(failure_of("needy", "base:latest").stage(), "requires");
  EXPECT_EQ(failure_of("needy").stage(), "requires");
  EXPECT_EQ(failure_of("installing").stage(), "requires");
}

// The driver's own root, which is the host's for most.
class OwnRootTest : public ::testing::Test {
 protected:
  OwnRootTest() {
    world_.add().capabilities.network = NetworkControl::deny;
    world_.start();
  }
  // "" = known; "looked"; or the stage at which it failed.
  std::string start(CreateRequest request = {}) {
    request.profile = "python";
    auto made = world_.create(std::move(request));
    if (!made) return made.error().stage();
    for (const auto& stage : made->stages)
      if (stage.name == "requires")
        return stage.log == "known from an earlier start" ? "" : "looked";
    return "neither";
  }
  static CreateRequest with_file() {
    CreateRequest request;
    request.files.push_back({"/workspace/python3", "x"});
    return request;
  }

  EngineWorld world_;
};

TEST_F(OwnRootTest, WhatAStartHasFoundTheNextDoesNotLookForUntilAWhileHasPassed) {
  EXPECT_EQ(start(), "looked");
  EXPECT_EQ(start(), "");
  EXPECT_EQ(start(with_file()), "");
  EXPECT_EQ(start({.env = {{"PATH", "/elsewhere"}}}), "looked");

  world_.advance(KnownPrograms::kTrusted);

  EXPECT_EQ(start(), "looked");
  EXPECT_EQ(start(), "");
}

TEST_F(OwnRootTest, WhoBringsFilesTellsNothingOfTheRoot) {
  EXPECT_EQ(start(with_file()), "looked");

  EXPECT_EQ(start(), "looked");
}

TEST_F(OwnRootTest, AHostWithoutTheInterpreterIsRefusedUntilItHasIt) {
  world_.host().programs.erase("python3");
  EXPECT_EQ(start(), "requires");
  EXPECT_EQ(start(), "requires");
  EXPECT_TRUE(world_.host().ids().empty());

  world_.host().programs["python3"] = "Python 3.13.0\n";

  EXPECT_EQ(start(), "looked");
}

}  // namespace
}  // namespace atl
