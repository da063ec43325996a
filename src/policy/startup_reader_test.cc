#include "policy/startup_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/profile_reader.h"

namespace atl::policy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ReadProfiles read(const std::string& text) {
  return read_profiles({"p.yaml", "name: x\n" + text, Origin::operators, Form::profile_file});
}

TEST(StartupReader, ReadsHooksAloneAndInLists) {
  const auto found = read(R"(
hooks:
  after_start: ./serve &
  before_stop: [./flush, {run: ./save, timeout: 2m}]
)");

  ASSERT_THAT(found.problems, IsEmpty()) << found.problems[0].message();
  const Startup& startup = found.profiles[0].profile.startup;
  ASSERT_TRUE(startup.after_start && startup.before_stop);
  EXPECT_EQ(startup.after_start->at(0), (SetupStep{.command = "./serve &", .timeout_ms = 30'000}));
  EXPECT_EQ(startup.before_stop->at(1), (SetupStep{.command = "./save", .timeout_ms = 120'000}));
  EXPECT_EQ(startup.stop_ms(), 150'000);
  EXPECT_FALSE(startup.is_empty());
}

TEST(StartupReader, HooksAreFewAndShort) {
  const auto problem = [](const std::string& hooks) {
    const auto found = read("hooks: " + hooks + "\n");
    return found.problems.empty() ? "fine" : found.problems[0].message();
  };
  EXPECT_THAT(problem("[x]"), HasSubstr("hooks: expected after_start or before_stop"));
  EXPECT_THAT(problem("{after_stop: x}"), HasSubstr("hooks: expected after_start or before_stop"));
  EXPECT_THAT(problem("{after_start: {timeout: 1s}}"), HasSubstr("without `run`"));
  EXPECT_THAT(problem("{before_stop: [a, b, c, d, e, f, g, h, i]}"), HasSubstr("more than 8"));
  EXPECT_THAT(problem("{before_stop: [a, {run: b, timeout: 10m}]}"),
              HasSubstr("hooks.before_stop: together they may take 10 minutes"));
  EXPECT_THAT(problem("{after_start: {run: b, timeout: 100000h}}"), HasSubstr("10 minutes"));
  EXPECT_EQ(problem("{after_start: [], before_stop: []}"), "fine");
}

TEST(StartupReader, ReadsShortAndLongForms) {
  const auto found = read(R"(
setup:
  - make deps
  - {run: npm ci, timeout: 5m}
requires: [git, "python>=3.11"]
readiness: {port: 8080, interval: 100ms, timeout: 30}
)");

  ASSERT_THAT(found.problems, IsEmpty()) << found.problems[0].message();
  const Startup& startup = found.profiles[0].profile.startup;
  ASSERT_TRUE(startup.setup && startup.requires_ && startup.readiness);
  ASSERT_THAT(*startup.setup, SizeIs(2));
  EXPECT_EQ(startup.setup->at(0), (SetupStep{.command = "make deps"}));
  EXPECT_EQ(startup.setup->at(1), (SetupStep{.command = "npm ci", .timeout_ms = 300'000}));
  ASSERT_THAT(*startup.requires_, SizeIs(2));
  EXPECT_EQ(startup.requires_->at(1).text, "python>=3.11");
  EXPECT_EQ(*startup.readiness,
            (Readiness{.command = "", .port = 8080, .interval_ms = 100, .timeout_ms = 30'000}));
  EXPECT_FALSE(startup.is_empty());
}

TEST(StartupReader, AReadinessMayBeACommandAlone) {
  const auto found = read("readiness: test -e /ready\n");
  ASSERT_THAT(found.problems, IsEmpty());
  EXPECT_EQ(found.profiles[0].profile.startup.readiness->command, "test -e /ready");
}

TEST(StartupReader, NothingIsSaidByAProfileThatSaysNothing) {
  const auto found = read("setup: []\nrequires: []\n");
  ASSERT_THAT(found.problems, IsEmpty());
  EXPECT_TRUE(found.profiles[0].profile.startup.is_empty());
}

TEST(StartupReader, WhatCannotBeMeantIsRefusedByItsField) {
  const std::pair<std::string, std::string> cases[] = {
      {"setup: make", "setup: expected a list"},
      {"setup: [3]", "setup: expected a command"},
      {"setup: [\"\"]", "setup: expected a command"},
      {"setup: [{timeout: 5m}]", "a step without `run`"},
      {"setup: [{run: a, wait: 5m}]", "expected a command, or {run, timeout}"},
      {"setup: [{run: a, timeout: 0}]", "more than zero"},
      {"requires: git", "requires: expected a list"},
      {"requires: [\"git; reboot\"]", "requires: expected a program"},
      {"requires: [1]", "requires: expected a program"},
      {"readiness: {}", "one of the two"},
      {"readiness: {run: a, port: 1}", "one of the two"},
      {"readiness: {port: 0}", "from 1 to 65535"},
      {"readiness: {port: 70000}", "from 1 to 65535"},
      {"readiness: {port: 1.5}", "from 1 to 65535"},
      {"readiness: {url: x}", "expected a command, or {run or port"},
      {"readiness: [a]", "readiness: expected a command"}};
  for (const auto& [text, problem] : cases) {
    const auto found = read(text + "\n");
    ASSERT_THAT(found.problems, SizeIs(1)) << text;
    EXPECT_THAT(found.problems[0].message(), HasSubstr(problem));
    EXPECT_THAT(found.problems[0].message(), HasSubstr("p.yaml:2")) << text;
  }
  const auto long_one = read("setup: [" + std::string(kLongestCommand + 1, 'x') + "]\n");
  ASSERT_THAT(long_one.problems, SizeIs(1));
  EXPECT_THAT(long_one.problems[0].message(), HasSubstr("16384"));
}

}  // namespace
}  // namespace atl::policy
