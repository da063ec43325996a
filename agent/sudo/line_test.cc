#include "agent/sudo/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::sudo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

const Caller kCaller{"user",
                     1000,
                     1000,
                     {{"TERM", "xterm"}, {"LC_ALL", "C"}, {"SECRET", "x"}, {"HOME", "/home/user"}}};

Result<Line> parse(const std::vector<std::string>& arguments) {
  return parse_line(arguments, kCaller);
}

TEST(SudoLine, PlainCommandIsForRoot) {
  const auto line = parse({"apt-get", "-y", "install", "-E"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->wish, Wish::run);
  EXPECT_EQ(line->ask.user, "");
  EXPECT_THAT(line->ask.argv, ElementsAre("apt-get", "-y", "install", "-E"));
}

TEST(SudoLine, KeepsOnlyWhatTheCommandNeeds) {
  const auto line = parse({"true"});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->ask.env, Contains(Pair("TERM", "xterm")));
  EXPECT_THAT(line->ask.env, Contains(Pair("LC_ALL", "C")));
  EXPECT_THAT(line->ask.env, Contains(Pair("SUDO_USER", "user")));
  EXPECT_THAT(line->ask.env, Not(Contains(Key("SECRET"))));
  EXPECT_THAT(line->ask.env, Not(Contains(Key("HOME"))));
}

TEST(SudoLine, KeepsAllOrSomeWhenAsked) {
  EXPECT_THAT(parse({"-E", "true"})->ask.env, Contains(Key("SECRET")));
  EXPECT_THAT(parse({"--preserve-env=A,SECRET", "true"})->ask.env, Contains(Key("SECRET")));
  EXPECT_THAT(parse({"-E", "true"})->ask.env, Not(Contains(Key("HOME"))));
}

TEST(SudoLine, AssignmentsComeBeforeTheCommand) {
  const auto line = parse({"-nu", "nobody", "A=1", "B=x=y", "env", "C=3"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->ask.user, "nobody");
  EXPECT_THAT(line->ask.argv, ElementsAre("env", "C=3"));
  EXPECT_THAT(line->ask.env, Contains(Pair("B", "x=y")));
}

TEST(SudoLine, UserIsNamedInEveryWay) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-u", "bob", "id"},
                                                {"-ubob", "id"},
                                                {"--user=bob", "id"},
                                                {"--user", "bob", "--", "id"}}) {
    const auto line = parse(words);
    ASSERT_TRUE(line) << words[0];
    EXPECT_EQ(line->ask.user, "bob");
    EXPECT_THAT(line->ask.argv, ElementsAre("id"));
  }
}

TEST(SudoLine, ShellsQuoteTheirCommand) {
  EXPECT_THAT(parse({"-s", "echo", "it's"})->ask.argv,
              ElementsAre("/bin/sh", "-c", "'echo' 'it'\\''s' "));
  EXPECT_THAT(parse({"-i", "pwd"})->ask.argv, ElementsAre("/bin/sh", "-l", "-c", "cd && 'pwd' "));
  EXPECT_THAT(parse({"-s"})->ask.argv, ElementsAre("/bin/sh"));
}

TEST(SudoLine, PasswordsNeedNoWork) {
  EXPECT_EQ(parse({"-v"})->wish, Wish::nothing);
  EXPECT_EQ(parse({"-k"})->wish, Wish::nothing);
  EXPECT_EQ(parse({"-k", "true"})->wish, Wish::run);
  EXPECT_EQ(parse({"-l"})->wish, Wish::tell);
}

TEST(SudoLine, SaysWhatItDoesNotKnow) {
  EXPECT_THAT(parse({"-Q", "true"}).error().message(), HasSubstr("-Q"));
  EXPECT_THAT(parse({"--role=x", "true"}).error().message(), HasSubstr("--role"));
  EXPECT_THAT(parse({"-u"}).error().message(), HasSubstr("needs a value"));
  EXPECT_THAT(parse({}).error().message(), HasSubstr("usage: sudo"));
}

TEST(SudoAsk, TravelsWhole) {
  const Ask ask{"bob", {"echo", ""}, {{"A", "1"}}};
  const auto got = decode_ask(encode(ask));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->user, "bob");
  EXPECT_EQ(got->argv, ask.argv);
  EXPECT_EQ(got->env, ask.env);
  EXPECT_FALSE(decode_ask(encode(ask) + "x"));
  EXPECT_FALSE(decode_ask(""));
}

TEST(SudoAnswer, TravelsWhole) {
  const auto got = decode_answer(encode(Answer{"no", 1, 9}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->refused, "no");
  EXPECT_EQ(got->exit_code, 1);
  EXPECT_EQ(got->signal, 9);
}

}  // namespace
}  // namespace atl::sudo
