#include "cli/args.h"

#include <gmock/gmock.h>

namespace atl::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Flag kFlags[] = {
    {"env", 'e', "K=V", "a variable"},
    {"interactive", 'i', "", "pass stdin"},
    {"quiet", 'q', "", "say less"},
    {"timeout", 0, "TIME", "how long"},
    {"here", 0, "MODE", "the current directory", "auto"},
    {"help", 'h', "", "this text"},
};

Grammar grammar(Tail tail, size_t least = 0, size_t most = 0) {
  return {.verb = "run",
          .usage = "…",
          .flags = {kFlags},
          .least_words = least,
          .most_words = most,
          .tail = tail};
}

Result<Args> parse_command(std::vector<std::string> arguments, size_t words = 0) {
  return Args::parse(grammar(Tail::command, words, words), arguments);
}

TEST(Args, TheFirstWordBeginsTheCommandAndItsFlagsStayItsOwn) {
  const auto args = parse_command({"-e", "A=1", "python3", "-q", "script.py", "--timeout"});

  ASSERT_TRUE(args);
  EXPECT_THAT(args->command(), ElementsAre("python3", "-q", "script.py", "--timeout"));
  EXPECT_FALSE(args->has("quiet"));
}

TEST(Args, TwoDashesBeginTheCommandToo) {
  const auto args = parse_command({"-q", "--", "-odd-program", "--", "x"});

  ASSERT_TRUE(args);
  EXPECT_THAT(args->command(), ElementsAre("-odd-program", "--", "x"));
}

TEST(Args, FlagsMayStandBetweenTheSandboxAndTheCommand) {
  const auto args = parse_command({"box", "-i", "--", "cat"}, 1);

  ASSERT_TRUE(args);
  EXPECT_THAT(args->words(), ElementsAre("box"));
  EXPECT_TRUE(args->has("interactive"));
  EXPECT_THAT(args->command(), ElementsAre("cat"));
}

TEST(Args, OfTwoFlagsByOneNameTheEarlierGroupsIsMeantAndShown) {
  constexpr Flag kOwn[] = {{"keep", 0, "", "leave it"}};
  constexpr Flag kShared[] = {{"keep", 0, "TIME", "for so long"}};
  const Grammar both{.verb = "verb", .usage = "", .flags = {kOwn, kShared}};

  const auto args = Args::parse(both, std::vector<std::string>{"--keep"});

  ASSERT_TRUE(args) << args.error().message();
  EXPECT_EQ(args->find("keep"), "");
  EXPECT_EQ(describe_flags(both).find("TIME"), std::string::npos);
}

TEST(Args, ASandboxWithoutANameIsSaidToBeSo) {
  const auto parse = [](std::string_view usage, std::vector<std::string> words) {
    return Args::parse(
        {.verb = "x", .usage = usage, .flags = {kFlags}, .least_words = 1, .most_words = 3}, words);
  };

  for (const auto& refused : {parse("[FLAGS] BOX", {""}), parse("[FLAGS] [BOX…]", {"a", ""}),
                              parse("[FLAGS] BOX PATTERN [PATH]", {"", "p"})}) {
    ASSERT_FALSE(refused);
    EXPECT_TRUE(is_usage_error(refused.error()));
    EXPECT_EQ(refused.error().message(), "the name of the sandbox is empty");
  }
  EXPECT_TRUE(parse("[FLAGS] BOX PATTERN [PATH]", {"a", "", "p"}));
  EXPECT_TRUE(parse("[FLAGS] PATH BOX:PATH | BOX:PATH PATH", {"", "a:b"}));
}

TEST(Args, TakesValuesInEveryUsualForm) {
  const auto args = parse_command({"-eA=1", "-e", "B=2", "-e=C=3", "--env=D=4", "--env", "E=5"});

  ASSERT_TRUE(args);
  EXPECT_THAT(args->all("env"), ElementsAre("A=1", "B=2", "C=3", "D=4", "E=5"));
}

TEST(Args, LettersCombineAndTheLastMayHaveAValue) {
  const auto args = parse_command({"-qie", "A=1"});

  ASSERT_TRUE(args);
  EXPECT_TRUE(args->has("quiet"));
  EXPECT_TRUE(args->has("interactive"));
  EXPECT_THAT(args->all("env"), ElementsAre("A=1"));
}

TEST(Args, TheLastOfTwoWins) {
  const auto args = parse_command({"--timeout", "1s", "--timeout=2s"});

  ASSERT_TRUE(args);
  EXPECT_EQ(args->find("timeout"), "2s");
}

TEST(Args, AnOptionalValueNeverEatsTheCommand) {
  const auto plain = parse_command({"--here", "ls"});
  const auto chosen = parse_command({"--here=rw", "ls"});

  ASSERT_TRUE(plain);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(plain->find("here"), "auto");
  EXPECT_THAT(plain->command(), ElementsAre("ls"));
  EXPECT_EQ(chosen->find("here"), "rw");
}

TEST(Args, ALoneDashIsAWord) {
  const auto args = Args::parse(grammar(Tail::words, 2, 2), std::vector<std::string>{"-", "box:x"});

  ASSERT_TRUE(args);
  EXPECT_THAT(args->words(), ElementsAre("-", "box:x"));
}

TEST(Args, AMistypedFlagIsNamedWithItsNeighbour) {
  const auto args = parse_command({"--tiemout", "3"});

  ASSERT_FALSE(args);
  EXPECT_TRUE(is_usage_error(args.error()));
  EXPECT_THAT(args.error().message(), HasSubstr("did you mean --timeout?"));
  EXPECT_THAT(args.error().hint(), HasSubstr("atoll run --help"));
}

TEST(Args, AskingForATerminalSaysWhatThereIsInstead) {
  const auto args = parse_command({"-it", "sh"});

  ASSERT_FALSE(args);
  EXPECT_THAT(args.error().hint(), HasSubstr("atoll exec -t"));
}

TEST(Args, AMissingValueAndAnUnwantedOneAreUsageErrors) {
  const auto missing = parse_command({"--timeout"});
  const auto unwanted = parse_command({"--quiet=yes"});

  ASSERT_FALSE(missing);
  ASSERT_FALSE(unwanted);
  EXPECT_THAT(missing.error().message(), HasSubstr("--timeout TIME"));
  EXPECT_THAT(unwanted.error().message(), HasSubstr("takes no value"));
}

TEST(Args, TooFewAndTooManyWordsAreUsageErrors) {
  const auto few = Args::parse(grammar(Tail::words, 1, 1), std::vector<std::string>{});
  const auto many = Args::parse(grammar(Tail::words, 1, 1), std::vector<std::string>{"a", "b"});

  ASSERT_FALSE(few);
  ASSERT_FALSE(many);
  EXPECT_TRUE(is_usage_error(few.error()));
  EXPECT_THAT(many.error().message(), HasSubstr("unexpected 'b'"));
}

TEST(Args, HelpNeedsNoWords) {
  const auto args = Args::parse(grammar(Tail::words, 1, 1), std::vector<std::string>{"--help"});

  ASSERT_TRUE(args);
  EXPECT_TRUE(args->has("help"));
  EXPECT_THAT(args->words(), IsEmpty());
}

TEST(Args, WhatIsConfiguredHoldsUnlessItIsTyped) {
  auto typed = parse_command({"--timeout", "5s", "-e", "A=typed", "--", "true"});
  auto untyped = parse_command({"--", "true"});
  ASSERT_TRUE(typed && untyped);
  for (Args* args : {&*typed, &*untyped}) {
    args->configure("timeout", "30s");
    args->configure("env", "A=configured");
  }

  EXPECT_EQ(typed->find("timeout"), "5s");
  EXPECT_EQ(untyped->find("timeout"), "30s");
  EXPECT_TRUE(typed->given("timeout"));
  EXPECT_FALSE(untyped->given("timeout"));
  EXPECT_TRUE(untyped->has("timeout"));
  EXPECT_THAT(typed->all("env"), ElementsAre("A=configured", "A=typed"));
  EXPECT_THAT(typed->all_given("env"), ElementsAre("A=typed"));
  EXPECT_THAT(typed->all_configured("env"), ElementsAre("A=configured"));
}

}  // namespace
}  // namespace atl::cli
