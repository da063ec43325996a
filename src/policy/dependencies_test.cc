#include "policy/dependencies.h"

#include <gmock/gmock.h>

#include "policy/profile_reader.h"

namespace atl::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReadProfiles read(const std::string& text) {
  return read_profiles({"p.yaml", "name: x\n" + text, Origin::operators, Form::profile_file});
}

TEST(Dependencies, AreListsForEachInstaller) {
  const auto found = read(
      "dependencies: {pip: ['requests>=2', ./a.whl], npm: ['@types/node@20'], apt: [g++, "
      "git=1:2.39.5-0+deb12u2]}\nlayer: setup\n");

  ASSERT_THAT(found.problems, IsEmpty()) << found.problems[0].message();
  const Startup& startup = found.profiles[0].profile.startup;
  ASSERT_TRUE(startup.dependencies);
  EXPECT_THAT(startup.dependencies->pip, ElementsAre("requests>=2", "./a.whl"));
  EXPECT_THAT(startup.dependencies->npm, ElementsAre("@types/node@20"));
  EXPECT_THAT(startup.dependencies->apt, ElementsAre("g++", "git=1:2.39.5-0+deb12u2"));
  EXPECT_EQ(startup.layer, Layer::setup);
  EXPECT_FALSE(startup.is_empty());
}

TEST(Dependencies, AnythingElseIsRefused) {
  const auto problem = [](const std::string& text) {
    const auto found = read("dependencies: " + text + "\n");
    return found.problems.empty() ? "fine" : found.problems[0].message();
  };
  EXPECT_THAT(problem("[requests]"), HasSubstr("expected lists of packages for pip, npm or apt"));
  EXPECT_THAT(problem("{gem: [rails]}"), HasSubstr("pip, npm or apt"));
  EXPECT_THAT(problem("{pip: requests}"), HasSubstr("dependencies.pip: expected a list"));
  for (const char* bad : {"''", "'-r'", "--index-url=http://x", "\"a\\nb\"", "[a]", "7"}) {
    EXPECT_THAT(problem("{pip: [" + std::string(bad) + "]}"), HasSubstr("dependencies.pip: each"))
        << bad;
  }
  for (const char* bad : {"git-", "a b", "'a;b'", "$(x)", "./a.deb"}) {
    EXPECT_THAT(problem("{apt: [" + std::string(bad) + "]}"), HasSubstr("dependencies.apt: each"))
        << bad;
  }
  std::string many = "{npm: [a";
  for (int i = 0; i < 200; ++i) many += ", a";
  EXPECT_THAT(problem(many + "]}"), HasSubstr("more than 200"));
  EXPECT_THAT(problem("{pip: ['" + std::string(501, 'a') + "']}"), HasSubstr("1 to 500 bytes"));
  EXPECT_EQ(problem("{pip: []}"), "fine");
}

TEST(Dependencies, ALayerIsOneOfThree) {
  EXPECT_THAT(read("layer: all\n").problems[0].message(),
              HasSubstr("layer: expected one of none, dependencies, setup"));
}

}  // namespace
}  // namespace atl::policy
