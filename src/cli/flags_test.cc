#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/exec_flags.h"
#include "cli/sandbox_flags.h"
#include "os/file.h"

namespace atl::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Args parse(std::vector<std::string> arguments) {
  auto args = Args::parse({.verb = "run",
                           .usage = "",
                           .flags = {kSandboxFlags, kEnvFlags, kPlaceFlags, kExecFlags},
                           .tail = Tail::command},
                          arguments);
  EXPECT_TRUE(args) << args.error().message();
  return *std::move(args);
}

TEST(SandboxFlags, SizesAndTimesBecomeWhatTheApiTakes) {
  const auto asked = sandbox_from(parse({"--memory", "256m", "--disk=1g", "--cpus", "0.5", "--pids",
                                         "64", "--ttl", "2h", "--idle", "1500ms"}));

  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->request.resources->memory_mb, 256);
  EXPECT_EQ(asked->request.resources->disk_mb, 1024);
  EXPECT_EQ(asked->request.resources->cpu, 0.5);
  EXPECT_EQ(asked->request.resources->pids, 64);
  EXPECT_EQ(asked->request.ttl_s, 7200);
  EXPECT_EQ(asked->request.idle_s, 2);
}

TEST(SandboxFlags, SharesOfProcessorsAndARootBecomeWhatTheApiTakes) {
  const auto weighed = sandbox_from(parse({"--cpu-weight", "250", "--rootfs", "/usr/.."}));
  const auto dedicated = sandbox_from(parse({"--dedicated", "--cpus", "2"}));

  ASSERT_TRUE(weighed);
  EXPECT_EQ(weighed->request.resources->cpu_weight, 250);
  EXPECT_EQ(weighed->request.rootfs, "/");
  ASSERT_TRUE(dedicated);
  EXPECT_EQ(dedicated->request.resources->sharing, Sharing::dedicated);
}

TEST(SandboxFlags, WhatIsNotAskedForIsLeftOut) {
  const auto asked = sandbox_from(parse({}));

  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->request.driver);
  EXPECT_FALSE(asked->request.resources);
  EXPECT_FALSE(asked->request.labels);
  EXPECT_FALSE(asked->here);
}

TEST(SandboxFlags, ASizeWithoutAUnitCountsMibAsInAFileAndWhoMeantBytesIsTold) {
  const auto plain = parse_mib("memory", "512");
  const auto rounded = parse_mib("memory", "1048577b");
  const auto bytes = parse_mib("memory", "268435456");
  const auto none = parse_mib("memory", "0");

  EXPECT_EQ(*plain, 512);
  EXPECT_EQ(*rounded, 2);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().hint(), HasSubstr("for bytes write the unit: 268435456b"));
  EXPECT_FALSE(none);
}

TEST(SandboxFlags, NonsenseIsAUsageErrorThatNamesTheFlag) {
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--cpus", "many"},
                                                        {"--cpus", "-1"},
                                                        {"--pids", "1.5"},
                                                        {"--ttl", "soon"},
                                                        {"--ttl", "0"},
                                                        {"--memory", "huge"},
                                                        {"--min-isolation", "total"},
                                                        {"--ttl", "36501d"},
                                                        {"--idle", "99999999999d"},
                                                        {"--name", "No Good"},
                                                        {"--name", "-"},
                                                        {"--pids", "9999999999"},
                                                        {"--label", "novalue"},
                                                        {"--label", "a b=c"},
                                                        {"--cpu-weight", "0"},
                                                        {"--cpu-weight", "10001"},
                                                        {"--here=cwo", ""}}) {
    const auto args = value.empty() ? parse({flag}) : parse({flag, value});
    const auto asked = sandbox_from(args);

    ASSERT_FALSE(asked) << flag << " " << value;
    EXPECT_TRUE(is_usage_error(asked.error())) << flag;
    EXPECT_THAT(asked.error().message(), HasSubstr(flag.substr(0, flag.find('='))));
  }
}

TEST(SandboxFlags, AnEmptyNameIsNoName) {
  const auto asked = sandbox_from(parse({"--name", ""}));

  ASSERT_FALSE(asked);
  EXPECT_TRUE(is_usage_error(asked.error()));
}

TEST(SandboxFlags, ALevelNearlyRightGetsASuggestion) {
  const auto asked = sandbox_from(parse({"--min-isolation", "contianer"}));

  ASSERT_FALSE(asked);
  EXPECT_THAT(asked.error().message(), HasSubstr("did you mean container?"));
}

TEST(Volume, HasDockersForms) {
  const auto plain = parse_volume("/tmp");
  const auto read_only = parse_volume("/tmp:ro");
  const auto moved = parse_volume("/tmp:/data");
  const auto both = parse_volume("/tmp:/data:cow");

  ASSERT_TRUE(plain && read_only && moved && both);
  EXPECT_EQ(plain->path, "/tmp");
  EXPECT_EQ(plain->access, HostAccess::rw);
  EXPECT_FALSE(plain->guest_path);
  EXPECT_EQ(read_only->access, HostAccess::ro);
  EXPECT_EQ(moved->guest_path, "/data");
  EXPECT_EQ(both->access, HostAccess::cow);
}

TEST(Volume, OddFormsAreExplained) {
  EXPECT_FALSE(parse_volume(""));
  EXPECT_FALSE(parse_volume(":/data"));
  EXPECT_FALSE(parse_volume("/tmp:data"));
  EXPECT_FALSE(parse_volume("/tmp:/a:/b:ro"));
  EXPECT_THAT(parse_volume("/no/such/place").error().message(), HasSubstr("No such file"));
}

TEST(Env, AValueMayHoldAnythingAndANameAloneTakesOurs) {
  setenv("ATOLL_TEST_VALUE", "from here", 1);
  unsetenv("ATOLL_TEST_MISSING");

  const auto env = env_from(
      parse({"-e", "A=b=c", "-e", "ATOLL_TEST_VALUE", "-e", "ATOLL_TEST_MISSING", "-e", "E="}));

  ASSERT_TRUE(env);
  EXPECT_THAT(*env,
              ElementsAre(Pair("A", "b=c"), Pair("ATOLL_TEST_VALUE", "from here"), Pair("E", "")));
}

TEST(Env, AFileHasLinesCommentsAndNames) {
  Variables env;

  const auto added = add_env_file(env, "# comment\n\nA=1\r\n  B=two words \n", "file");

  ASSERT_TRUE(added);
  EXPECT_THAT(env, ElementsAre(Pair("A", "1"), Pair("B", "two words ")));
}

TEST(Env, ABadLineIsNamedByItsNumberAndNotShown) {
  Variables env;

  for (const std::string line : {"=secret", "A B=secret", "my secret", "A\tB=secret"}) {
    const auto added = add_env_file(env, "A=1\n" + line + "\n", "vars");

    ASSERT_FALSE(added) << line;
    EXPECT_TRUE(is_usage_error(added.error()));
    EXPECT_THAT(added.error().message(), HasSubstr("vars:2"));
    EXPECT_THAT(added.error().message(), Not(HasSubstr("secret")));
  }
}

TEST(Env, ANameAloneInAFileTakesOurValueOrIsLeftOut) {
  setenv("ATOLL_TEST_VALUE", "from here", 1);
  unsetenv("ATOLL_TEST_MISSING");
  Variables env;

  const auto added = add_env_file(env, "ATOLL_TEST_VALUE\nATOLL_TEST_MISSING\nE=\n", "vars");

  ASSERT_TRUE(added);
  EXPECT_THAT(env, ElementsAre(Pair("ATOLL_TEST_VALUE", "from here"), Pair("E", "")));
}

TEST(Env, ABadNameIsAUsageErrorThatDoesNotShowTheValue) {
  for (const std::string text : {"A B=secret", "=secret", "", " =secret"}) {
    const auto env = env_from(parse({"-e", "FINE=1", "-e", text}));

    ASSERT_FALSE(env) << text;
    EXPECT_TRUE(is_usage_error(env.error())) << text;
    EXPECT_THAT(env.error().message(), HasSubstr("--env, number 2"));
    EXPECT_THAT(env.error().message(), Not(HasSubstr("secret")));
  }
}

TEST(Env, WhatIsConfiguredIsBelowFilesAndFlags) {
  char path[] = "/tmp/atoll-env-XXXXXX";
  const Fd file(mkstemp(path));
  ASSERT_TRUE(os::write_all(file.get(), "FILE=file\nBOTH=file\n"));
  auto args = parse({"--env-file", path, "-e", "FLAG=flag"});
  for (const char* text : {"FLAG=low", "FILE=low", "BOTH=low", "ONLY=low"})
    args.configure("env", text);

  const auto env = env_from(args);
  unlink(path);

  ASSERT_TRUE(env);
  EXPECT_THAT(*env, ElementsAre(Pair("BOTH", "file"), Pair("FILE", "file"), Pair("FLAG", "flag"),
                                Pair("ONLY", "low")));
}

TEST(Exec, TimeoutsHaveALimit) {
  EXPECT_EQ(exec_from(parse({"--timeout", "30d"}))->timeout, std::chrono::hours(30 * 24));
  for (const char* longer : {"31d", "366d", "99999999999d", "99999999999999999999d"}) {
    const auto asked = exec_from(parse({"--timeout", longer}));

    ASSERT_FALSE(asked) << longer;
    EXPECT_TRUE(is_usage_error(asked.error())) << longer;
  }
}

TEST(Exec, TimeoutsArePositive) {
  EXPECT_EQ(exec_from(parse({"--timeout", "250ms"}))->timeout, Millis(250));
  EXPECT_EQ(exec_from(parse({"--cpu-time", "2s"}))->cpu_time, Millis(2000));
  EXPECT_FALSE(exec_from(parse({"--cpu-time", "31d"})));
  EXPECT_FALSE(exec_from(parse({"--timeout", "0"})));
  EXPECT_FALSE(exec_from(parse({"--timeout", "later"})));
}

}  // namespace
}  // namespace atl::cli
