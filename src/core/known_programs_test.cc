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

}  // namespace
}  // namespace atl
