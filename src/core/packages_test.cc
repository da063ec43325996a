#include "core/packages.h"

#include <gmock/gmock.h>

namespace atl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// What comes after the last "--" or the name of a script: nothing of it can be an option.
std::vector<std::string> named(const SetupCommand& command) {
  std::vector<std::string> found;
  for (const std::string& word : command.exec.argv) {
    found.push_back(word);
    if (word == "--" || word == "sh") found.clear();
  }
  return found;
}

TEST(Packages, EachInstallerHasItsCommandAndTheSystemsComesFirst) {
  const auto commands = installers_of({.pip = {"a", "b"}, .npm = {"c"}, .apt = {"d"}}, "me", "/w");

  ASSERT_EQ(commands.size(), 3U);
  EXPECT_EQ(commands[0].name, "dependencies: apt");
  EXPECT_EQ(commands[0].exec.user, "root");
  EXPECT_THAT(named(commands[0]), ElementsAre("d"));
  EXPECT_EQ(commands[1].exec.argv.front(), "python3");
  EXPECT_THAT(commands[1].exec.argv, Contains("--user"));
  EXPECT_THAT(named(commands[1]), ElementsAre("a", "b"));
  EXPECT_EQ(commands[1].exec.user, "me");
  EXPECT_THAT(commands[1].env_offline, Contains(Pair("PIP_NO_INDEX", "1")));
  EXPECT_THAT(named(commands[2]), ElementsAre("c"));
  EXPECT_THAT(commands[2].exec.argv, Contains("--ignore-scripts"));
  EXPECT_EQ(commands[2].exec.cwd, "/w");
  for (const auto& command : commands) EXPECT_GT(command.exec.timeout.count(), 0);
}

TEST(Packages, WithoutAnyNothingIsRun) { EXPECT_THAT(installers_of({}, "", ""), IsEmpty()); }

}  // namespace
}  // namespace atl
