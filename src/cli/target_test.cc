#include "cli/target.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/verb.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(std::string(name));
    return found != values.end() ? std::optional(found->second) : std::nullopt;
  };
}

Args parse(std::vector<std::string> arguments) {
  auto args = Args::parse({.verb = "ps", .usage = "", .flags = {kEverywhereFlags}}, arguments);
  EXPECT_TRUE(args);
  return *std::move(args);
}

class TargetTest : public ::testing::Test {
 protected:
  TargetTest() {
    char name[] = "/tmp/atoll-target-XXXXXX";
    state_ = mkdtemp(name);
    directory_ = *os::open_at(AT_FDCWD, state_, O_RDONLY | O_DIRECTORY);
  }
  ~TargetTest() override { static_cast<void>(os::remove_tree(AT_FDCWD, state_)); }

  void listen() {
    listener_ =
        *os::listen_at(directory_.get(), std::string(kSocketName), os::SocketKind::stream, 0600);
  }
  void put_key(std::string_view key) {
    ASSERT_TRUE(os::replace_file(directory_.get(), std::string(kKeyFileName), key, 0600));
  }

  std::string state_;
  Fd directory_;
  Fd listener_;
};

TEST_F(TargetTest, TheSocketOfAStateDirectoryIsATargetOnlyWhileADaemonAnswers) {
  const auto before = find_target(parse({"--state", state_}), environment({}));
  listen();
  const auto after = find_target(parse({"--state", state_}), environment({}));

  ASSERT_TRUE(before);
  EXPECT_FALSE(before->found);
  EXPECT_EQ(before->socket, state_ + "/atoll.sock");
  ASSERT_TRUE(after);
  ASSERT_TRUE(after->found);
  EXPECT_EQ(after->found->url, "unix:" + state_ + "/atoll.sock");
}

TEST_F(TargetTest, AFlagWinsOverTheEnvironment) {
  listen();

  const auto by_state =
      find_target(parse({"--state", state_}), environment({{"ATOLL_URL", "http://other:1"}}));
  const auto by_url = find_target(parse({"--url", "http://flag:1"}),
                                  environment({{"ATOLL_URL", "http://other:1"}}));
  const auto by_env = find_target(
      parse({}), environment({{"ATOLL_URL", "http://other:1"}, {"ATOLL_STATE", state_}}));

  EXPECT_THAT(by_state->found->url, HasSubstr(state_));
  EXPECT_EQ(by_url->found->url, "http://flag:1");
  EXPECT_EQ(by_env->found->url, "http://other:1");
}

TEST_F(TargetTest, TheKeyFileIsForThisHostAndForNobodyElse) {
  put_key("atk_secret\n");
  const auto default_state = environment({{"XDG_STATE_HOME", "/nowhere"}, {"HOME", "/nowhere"}});

  const auto here =
      find_target(parse({"--url", "http://127.0.0.1:7070", "--state", state_}), default_state);
  const auto away = find_target(parse({"--url", "http://example.org"}), default_state);
  const auto own = find_target(parse({"--url", "http://example.org"}),
                               environment({{"ATOLL_API_KEY", "atk_own"}}));

  EXPECT_EQ(here->found->key, "atk_secret");
  EXPECT_EQ(away->found->key, "");
  EXPECT_EQ(own->found->key, "atk_own");
}

TEST(StateDirectory, FollowsTheFlagThenTheEnvironmentThenTheUser) {
  EXPECT_EQ(*state_directory_from(parse({"--state", "/a"}), environment({{"ATOLL_STATE", "/b"}})),
            "/a");
  EXPECT_EQ(*state_directory_from(parse({}), environment({{"ATOLL_STATE", "/b"}})), "/b");
  if (geteuid() == 0) {
    EXPECT_EQ(*state_directory_from(parse({}), environment({})), "/var/lib/atoll");
  } else {
    EXPECT_EQ(*state_directory_from(parse({}), environment({{"XDG_STATE_HOME", "/s"}})),
              "/s/atoll");
    EXPECT_THAT(*state_directory_from(parse({}), environment({{"HOME", "/h"}})),
                EndsWith("/h/.local/state/atoll"));
  }
}

TEST(NoDaemon, SaysHowToGetOne) {
  EXPECT_THAT(no_daemon("/x/atoll.sock").hint(), HasSubstr("atoll serve"));
}

}  // namespace
}  // namespace atl::cli
