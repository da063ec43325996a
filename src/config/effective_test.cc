#include "config/effective.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

namespace atl::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<std::string> nothing(std::string_view) { return std::nullopt; }

Layer layer(From from, std::string_view text, const std::string& directory = "/nowhere/") {
  Layer made{.from = from, .path = directory + "atoll.yaml", .directory = directory};
  made.settings =
      read_settings(text, made.path, [](std::string_view name) -> std::optional<std::string> {
        if (name == "GITHUB_TOKEN") return "ghp_hidden";
        if (name == "LANG") return "C";
        return std::nullopt;
      });
  EXPECT_THAT(made.settings.findings, IsEmpty()) << text;
  return made;
}

std::string shown(const Effective& effective, std::string_view path) {
  const Entry* entry = effective.find(path);
  return entry == nullptr ? "(nothing)"
                          : to_shown(*entry) + " from " + std::string(to_string(entry->from));
}

std::string refusal(From from, std::string_view text, std::string_view path,
                    const std::string& directory = "/nowhere/") {
  const std::vector<Layer> layers{layer(from, text, directory)};
  const auto effective = merge(layers, nothing);
  const Entry* entry = effective.find(path);
  if (entry == nullptr) return "(nothing)";
  return entry->refused ? entry->refused->message() : "";
}

TEST(Effective, StrongerSourcesWinOneByOne) {
  const std::vector<Layer> layers{layer(From::project, "sandbox: {memory: 1g}"),
                                  layer(From::user, "sandbox: {memory: 2g, cpus: 2, pids: 10}")};
  const auto effective = merge(layers, [](std::string_view name) -> std::optional<std::string> {
    if (name == "ATOLL_PIDS") return "99";
    return std::nullopt;
  });

  EXPECT_EQ(shown(effective, "sandbox.memory"), "1g from project file");
  EXPECT_EQ(shown(effective, "sandbox.cpus"), "2 from user file");
  EXPECT_EQ(shown(effective, "sandbox.pids"), "99 from variable");
  EXPECT_EQ(effective.find("sandbox.memory")->where, "/nowhere/atoll.yaml:1");
}

TEST(Effective, VariablesForCommandsAreMergedByName) {
  const std::vector<Layer> layers{layer(From::named, "sandbox: {env: {A: one}}"),
                                  layer(From::user, "sandbox: {env: {A: other, B: two}}")};
  const auto effective = merge(layers, nothing);

  EXPECT_EQ(shown(effective, "sandbox.env.A"), "one from named file");
  EXPECT_EQ(shown(effective, "sandbox.env.B"), "two from user file");
}

TEST(Effective, SecretsAreNotShown) {
  const std::vector<Layer> layers{layer(
      From::user,
      "e2b: {api_key: abc}\nsandbox: {env: {MY_PASSWORD: abc, X: \"${GITHUB_TOKEN}\", Y: y}}")};
  const auto effective = merge(layers, nothing);

  EXPECT_EQ(shown(effective, "e2b.api_key"), "(secret) from user file");
  EXPECT_EQ(shown(effective, "sandbox.env.MY_PASSWORD"), "(secret) from user file");
  EXPECT_EQ(shown(effective, "sandbox.env.X"), "(secret) from user file");
}

TEST(Effective, AWrongVariableIsTold) {
  const auto effective = merge({}, [](std::string_view name) -> std::optional<std::string> {
    if (name == "ATOLL_MEMORY") return "plenty";
    return std::nullopt;
  });

  ASSERT_EQ(effective.findings.size(), 1u);
  EXPECT_THAT(to_text(effective.findings[0]),
              HasSubstr("ATOLL_MEMORY: error: sandbox.memory: expected a size"));
}

TEST(ProjectFile, MayNotTakeIsolationAway) {
  EXPECT_THAT(refusal(From::project, "run_mode: local", "sandbox.driver"),
              HasSubstr("isolates less"));
  EXPECT_THAT(refusal(From::project, "sandbox: {driver: subprocess}", "sandbox.driver"),
              HasSubstr("isolates less"));
  EXPECT_THAT(refusal(From::project, "run_mode: e2b", "sandbox.driver"),
              HasSubstr("send code to e2b"));
  EXPECT_THAT(refusal(From::project, "run_mode: native", "sandbox.driver"), IsEmpty());
  EXPECT_THAT(refusal(From::project, "run_mode: firecracker", "sandbox.driver"), IsEmpty());
  EXPECT_THAT(refusal(From::named, "run_mode: local", "sandbox.driver"), IsEmpty());
  EXPECT_THAT(refusal(From::user, "run_mode: local", "sandbox.driver"), IsEmpty());
}

TEST(ProjectFile, MayNotLowerWhatTheUserHasSet) {
  const std::vector<Layer> floors{layer(From::project, "sandbox: {min_isolation: none}"),
                                  layer(From::user, "sandbox: {min_isolation: container}")};
  EXPECT_EQ(shown(merge(floors, nothing), "sandbox.min_isolation"), "container from user file");
  const std::vector<Layer> higher{layer(From::project, "sandbox: {min_isolation: vm}"),
                                  layer(From::user, "sandbox: {min_isolation: container}")};
  EXPECT_EQ(shown(merge(higher, nothing), "sandbox.min_isolation"), "vm from project file");

  const std::vector<Layer> drivers{layer(From::project, "run_mode: native"),
                                   layer(From::user, "run_mode: firecracker")};
  const auto effective = merge(drivers, nothing);
  ASSERT_TRUE(effective.find("sandbox.driver")->refused);
  EXPECT_THAT(effective.find("sandbox.driver")->refused->message(),
              HasSubstr("less than firecracker"));
}

TEST(ProjectFile, MayNotChooseDaemonsOrHandOverSecrets) {
  EXPECT_THAT(refusal(From::project, "url: http://127.0.0.1:1", "url"),
              HasSubstr("may not set this"));
  EXPECT_THAT(refusal(From::project, "serve: {listen: '0.0.0.0:1'}", "serve.listen"),
              HasSubstr("may not set this"));
  EXPECT_THAT(refusal(From::project, "serve: {state: /tmp}", "serve.state"),
              HasSubstr("may not set this"));
  EXPECT_THAT(refusal(From::project, "sandbox: {rootfs: /}", "sandbox.rootfs"),
              HasSubstr("may not set this"));
  EXPECT_THAT(refusal(From::project, "sandbox: {env: {X: \"${GITHUB_TOKEN}\"}}", "sandbox.env.X"),
              HasSubstr("hand over ${GITHUB_TOKEN}"));
  EXPECT_THAT(refusal(From::project, "sandbox: {env: {X: \"${LANG}\"}}", "sandbox.env.X"),
              IsEmpty());
  EXPECT_THAT(refusal(From::project, "sandbox: {here: rw}", "sandbox.here"),
              HasSubstr("write to the host's files"));
  EXPECT_THAT(refusal(From::project, "sandbox: {here: cow}", "sandbox.here"), IsEmpty());
}

class Directories : public ::testing::Test {
 protected:
  Directories() {
    char name[] = "/tmp/atoll-config-XXXXXX";
    base_ = mkdtemp(name);
    project_ = base_ + "/project/";
    EXPECT_EQ(mkdir(project_.c_str(), 0700), 0);
    EXPECT_EQ(mkdir((project_ + "data").c_str(), 0700), 0);
    EXPECT_EQ(mkdir((base_ + "/projectile").c_str(), 0700), 0);
    EXPECT_EQ(symlink("..", (project_ + "out").c_str()), 0);
  }
  ~Directories() override { static_cast<void>(os::remove_tree(AT_FDCWD, base_)); }

  std::string refuse(std::string_view volume, From from = From::project) {
    return refusal(from, "sandbox: {volumes: ['" + std::string(volume) + "']}", "sandbox.volumes",
                   project_);
  }

  std::string base_, project_;
};

TEST_F(Directories, OfTheProjectItselfMayBeShownAndNoOthers) {
  EXPECT_THAT(refuse(".:/workspace:cow"), IsEmpty());
  EXPECT_THAT(refuse("data:/data:ro"), IsEmpty());
  EXPECT_THAT(refuse(".:/workspace"), HasSubstr("write to the host's files"));
  EXPECT_THAT(refuse("..:/data:ro"), HasSubstr("outside of its own"));
  EXPECT_THAT(refuse("out:/data:ro"), HasSubstr("outside of its own"));
  EXPECT_THAT(refuse("../projectile:/data:ro"), HasSubstr("outside of its own"));
  EXPECT_THAT(refuse("/etc:/data:ro"), HasSubstr("outside of its own"));
  EXPECT_THAT(refuse("missing/../../..:/data:ro"), HasSubstr("outside of its own"));
  EXPECT_THAT(refuse("/etc:/data:ro", From::named), IsEmpty());
}

TEST_F(Directories, AreRelativeToTheFile) {
  const std::vector<Layer> layers{
      layer(From::named, "sandbox: {volumes: ['data:/d:ro', 'data']}", project_)};
  const auto effective = merge(layers, nothing);
  const auto flags = to_flags(*effective.find("sandbox.volumes"));

  ASSERT_EQ(flags.size(), 2u);
  EXPECT_EQ(flags[0].value, project_ + "data:/d:ro");
  EXPECT_EQ(flags[1].value, project_ + "data:" + project_ + "data:rw");
}

TEST_F(Directories, ASocketThatRulesTheHostIsRefusedWhoeverAsks) {
  ASSERT_EQ(symlink("docker.sock", (project_ + "innocent").c_str()), 0);
  const Fd file(open((project_ + "docker.sock").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  for (const From from : {From::named, From::user, From::project}) {
    EXPECT_THAT(refuse("/var/run/docker.sock:/var/run/docker.sock", from),
                HasSubstr("rules the host"));
    EXPECT_THAT(refuse("innocent:/x:ro", from), HasSubstr("rules the host"));
  }
}

TEST(Flags, AreWhatTheCommandLineTakes) {
  const std::vector<Layer> layers{layer(From::named,
                                        "run_mode: native\nsandbox: {memory_mb: 300, cpu: 512, "
                                        "idleTimeoutMs: 1500, env: {A: x}, pids: 7}")};
  const auto effective = merge(layers, nothing);
  const auto value = [&](std::string_view path) {
    const auto flags = to_flags(*effective.find(path));
    return flags.size() == 1 ? flags[0].flag + " " + flags[0].value : "(none)";
  };

  EXPECT_EQ(value("sandbox.driver"), "driver native");
  EXPECT_EQ(value("sandbox.memory"), "memory 300m");
  EXPECT_EQ(value("sandbox.cpus"), "cpus 0.5");
  EXPECT_EQ(value("sandbox.idle"), "idle 1500ms");
  EXPECT_EQ(value("sandbox.env.A"), "env A=x");
  EXPECT_EQ(value("sandbox.pids"), "pids 7");
}

TEST(Flags, ASwitchIsThereOrNot) {
  const std::vector<Layer> on{layer(From::user, "serve: {local_users: true}")};
  const std::vector<Layer> off{layer(From::user, "serve: {local_users: false}")};

  const auto flags = to_flags(*merge(on, nothing).find("serve.local_users"));
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].flag + flags[0].value, "local-users");
  EXPECT_THAT(to_flags(*merge(off, nothing).find("serve.local_users")), IsEmpty());
}

TEST(Flags, OfASecondarySandboxAreNobodys) {
  const std::vector<Layer> layers{layer(From::named, "sandbox: {secondary: {memory: 1g}}")};
  EXPECT_THAT(to_flags(*merge(layers, nothing).find("sandbox.secondary.memory")), IsEmpty());
}

}  // namespace
}  // namespace atl::config
