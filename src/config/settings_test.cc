#include "config/settings.h"

#include <gmock/gmock.h>

namespace atl::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::optional<std::string> environment(std::string_view name) {
  if (name == "MEM") return "512m";
  if (name == "API_TOKEN") return "very-hidden";
  if (name == "LONG") return std::string(60'000, 'x');
  return std::nullopt;
}

std::vector<std::string> told(std::string_view text) {
  auto settings = read_settings(text, "atoll.yaml", environment);
  const std::vector<std::string> built{"native", "local"};
  check_settings(settings, built);
  std::vector<std::string> lines;
  for (const Finding& finding : settings.findings) lines.push_back(to_text(finding));
  return lines;
}

TEST(Settings, AMistypedNameIsToldWithItsPlaceAndTheRightOne) {
  EXPECT_THAT(told("sandbox:\n  cpus: 1\n  memroy: 1g\n"),
              ElementsAre("atoll.yaml:3:3: error: sandbox.memroy: no such setting\n"
                          "  hint: did you mean memory?\n"));
  EXPECT_THAT(told("sandbx: {}\n"), ElementsAre(HasSubstr("did you mean sandbox?")));
}

TEST(Settings, EverythingThatIsWrongIsToldAtOnce) {
  EXPECT_THAT(told("sandbox:\n  memory: x\n  cpus: y\nserve:\n  parked: z\n"),
              ElementsAre(HasSubstr(":2:3:"), HasSubstr(":3:3:"), HasSubstr(":5:3:")));
}

TEST(Settings, VariablesAreReplacedBeforeTypesAreLookedAt) {
  const auto settings =
      read_settings("sandbox: {memory: \"${MEM}\", cpus: \"${CPUS:-0.5}\"}", "f", environment);

  ASSERT_THAT(settings.findings, IsEmpty());
  EXPECT_EQ(settings.find("sandbox.memory")->value.as_string(), "512m");
  EXPECT_EQ(settings.find("sandbox.cpus")->value.as_double(), 0.5);
}

TEST(Settings, AVariableThatIsNotSetIsAnErrorWithItsLine) {
  EXPECT_THAT(
      told("e2b:\n  enabled: false\n  api_key: ${E2B_API_KEY}\n"),
      ElementsAre("atoll.yaml:3:3: error: e2b.api_key: the variable E2B_API_KEY is not set\n"
                  "  hint: set it, or give a default: ${E2B_API_KEY:-default}\n"));
  EXPECT_THAT(told("sandbox:\n  env:\n    A: a\n    B: ${NOPE}\n"),
              ElementsAre(HasSubstr("atoll.yaml:4:5:")));
}

TEST(Settings, NoMessageShowsASecret) {
  for (const std::string_view text :
       {"sandbox: {memory: \"${API_TOKEN}\"}", "sandbox: {env: [\"${API_TOKEN}\"]}",
        "run_mode: ${API_TOKEN}", "sandbox: {driver: \"${API_TOKEN}\"}",
        "sandbox: {here: \"${API_TOKEN}\"}", "sandbox: {network: \"${API_TOKEN}\"}",
        "sandbox: {volumes: [\"${API_TOKEN}:x:y:z\"]}",
        "sandbox: {min_isolation: \"${API_TOKEN}\"}", "run_mode: \"hybrid_${API_TOKEN}\"",
        "sandbox: {volumes: [\"/${API_TOKEN}/docker.sock\"]}"}) {
    const auto lines = told(text);
    ASSERT_THAT(lines, Not(IsEmpty())) << text;
    for (const auto& line : lines) EXPECT_THAT(line, Not(HasSubstr("very-hidden"))) << text;
  }
}

TEST(Settings, KnowWhatIsSecret) {
  const auto settings = read_settings(
      "e2b: {api_key: literal}\nsandbox: {image: \"${API_TOKEN}\", user: \"${MEM}\"}\n", "f",
      environment);

  EXPECT_TRUE(is_secret(*settings.find("e2b.api_key")));
  EXPECT_TRUE(is_secret(*settings.find("sandbox.image")));
  EXPECT_FALSE(is_secret(*settings.find("sandbox.user")));
}

TEST(Settings, TheSameThingUnderTwoNamesIsAnError) {
  EXPECT_THAT(told("sandbox:\n  memory: 1g\n  memory_mb: 512\n"),
              ElementsAre(HasSubstr(
                  "3:3: error: sandbox.memory_mb: the same as sandbox.memory in line 2")));
  EXPECT_THAT(told("sandbox: {memory: 1g}\ndefaults: {memory: 1g}\n"),
              ElementsAre(HasSubstr("the same as")));
}

TEST(Settings, MoreThanADriverOffersIsAnErrorThatNamesBoth) {
  const auto lines = told("sandbox:\n  type: aws_lambda\n  memory: 10241\n  timeout: 901\n");
  EXPECT_THAT(
      lines,
      ElementsAre(HasSubstr("the driver lambda is not built yet"),
                  HasSubstr("3:3: error: sandbox.memory: lambda offers at most 10240 MiB"),
                  HasSubstr("4:3: error: sandbox.timeout: lambda offers at most 900 seconds")));
  EXPECT_THAT(told("run_mode: ecs_fargate\nsandbox: {cpu: 32768}\n"),
              ElementsAre(HasSubstr("not built"),
                          HasSubstr("ecs_fargate offers at most 16 processors, 32 is asked")));
}

TEST(Settings, AModeAndATypeThatContradictEachOtherAreAnError) {
  EXPECT_THAT(told("run_mode: local\nsandbox: {driver: native}\n"),
              ElementsAre(HasSubstr("run_mode says local, and this says native")));
  EXPECT_THAT(told("run_mode: hybrid_aws\n"), ElementsAre(HasSubstr("needs sandbox.primary"),
                                                          HasSubstr("hybrid_aws is not built")));
  EXPECT_THAT(told("sandbox: {primary: {driver: native}}\n"),
              ElementsAre(HasSubstr("belong to a hybrid run mode")));
}

TEST(Settings, WhatADriverCannotHoldIsAnError) {
  EXPECT_THAT(told("run_mode: local\nsandbox: {network: none}\n"),
              ElementsAre(HasSubstr("local cannot cut off the network")));
  EXPECT_THAT(told("run_mode: native\nsandbox: {min_isolation: vm}\n"),
              ElementsAre(HasSubstr("the driver native offers container, vm is asked")));
}

TEST(Settings, NativeUnderTypeIsWarnedOf) {
  EXPECT_THAT(
      told("sandbox: {type: native}\n"),
      ElementsAre(HasSubstr("warning: sandbox.type: native under `type` means no isolation")));
  EXPECT_THAT(told("sandbox: {driver: native}\n"), IsEmpty());
}

TEST(Settings, WhatNothingComesOfIsWarnedOf) {
  EXPECT_THAT(told("run_mode: native\nsandbox: {image: x}\n"),
              ElementsAre(HasSubstr("no driver of this Atoll uses it")));
}

TEST(Settings, APoolOfAFileIsAskedOfADaemon) {
  EXPECT_THAT(told("pool: {maxSize: 10}\n"),
              ElementsAre(HasSubstr("pool.maxSize: it is understood, and no pool is made of it")));
}

TEST(Settings, WhatIsNoYamlIsToldWithItsLine) {
  EXPECT_THAT(told("a: [1\nb: 2\n"), ElementsAre(HasSubstr("atoll.yaml:2:1: error: ")));
  EXPECT_THAT(told("- a\n"), ElementsAre(HasSubstr("no map")));
  EXPECT_THAT(told("a: 1\na: 2\n"),
              ElementsAre(HasSubstr("atoll.yaml:2:1: error: a: given twice")));
}

TEST(Settings, AreBounded) {
  EXPECT_THAT(told(std::string(kLargestFile + 1, '#')), ElementsAre(HasSubstr("at most 262144")));
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "{a: ";
  deep += "1" + std::string(40, '}');
  EXPECT_THAT(told(deep), ElementsAre(HasSubstr("nested deeper")));
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? "," : "") + before;
    bomb += "]\n";
  }
  EXPECT_THAT(told(bomb), ElementsAre(HasSubstr("too large")));
  std::string many = "sandbox:\n  env:\n";
  for (int i = 0; i < 100; ++i) many += "    V" + std::to_string(i) + ": ${LONG}\n";
  EXPECT_THAT(told(many), ElementsAre(HasSubstr("with variables, are too long")));
}

TEST(Settings, AnEmptyFileSaysNothing) {
  EXPECT_THAT(told(""), IsEmpty());
  EXPECT_THAT(told("# nothing\nsandbox:\n"), IsEmpty());
}

}  // namespace
}  // namespace atl::config
