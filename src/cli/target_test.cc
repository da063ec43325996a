#include "cli/target.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
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

// Root may open everything; while this lives we are not root.
class SomebodyElse final {
 public:
  SomebodyElse() {
    if (was_root_) EXPECT_EQ(seteuid(65'534), 0);
  }
  ~SomebodyElse() {
    if (was_root_) EXPECT_EQ(seteuid(0), 0);
  }
  SomebodyElse(const SomebodyElse&) = delete;
  SomebodyElse& operator=(const SomebodyElse&) = delete;

 private:
  bool was_root_ = geteuid() == 0;
};

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

TEST(HomeDirectory, IsThatOfThePasswordDatabaseWhenHomeIsNotSet) {
  const passwd* entry = getpwuid(geteuid());
  if (entry == nullptr) GTEST_SKIP() << "the password database does not know us";

  EXPECT_EQ(*home_directory(environment({{"HOME", "/h"}})), "/h");
  EXPECT_EQ(*home_directory(environment({})), entry->pw_dir);
  EXPECT_EQ(*home_directory(environment({{"HOME", ""}})), entry->pw_dir);
}

TEST_F(TargetTest, ASocketThatMayNotBeOpenedIsNotTakenForNobody) {
  listen();
  ASSERT_EQ(chmod((state_ + "/atoll.sock").c_str(), 0), 0);
  const SomebodyElse nobody;

  const auto named = find_target(parse({"--state", state_}), environment({}));
  const auto by_env = find_target(parse({}), environment({{"ATOLL_STATE", state_}}));

  ASSERT_TRUE(named && by_env);
  EXPECT_FALSE(named->found);
  EXPECT_EQ(no_daemon(*named).code(), Code::permission_denied);
  EXPECT_THAT(no_daemon(*named).message(), HasSubstr("permission denied"));
  EXPECT_THAT(no_daemon(*named).hint(), HasSubstr("--url"));
  EXPECT_FALSE(check_that_nobody_was_meant(*named));
  EXPECT_FALSE(check_that_nobody_was_meant(*by_env));
}

TEST_F(TargetTest, ADirectoryThatNobodyNamedDoesNotStandInTheWay) {
  TargetSearch search;
  search.trouble = client::not_permitted("/x/atoll.sock");

  EXPECT_TRUE(check_that_nobody_was_meant(search));
  search.named = true;
  EXPECT_FALSE(check_that_nobody_was_meant(search));
}

TEST_F(TargetTest, ADaemonThatHasDiedIsNobody) {
  listen();
  listener_ = Fd();

  const auto search = find_target(parse({"--state", state_}), environment({}));

  ASSERT_TRUE(search);
  EXPECT_FALSE(search->found);
  EXPECT_TRUE(check_that_nobody_was_meant(*search));
  EXPECT_THAT(no_daemon(*search).hint(), HasSubstr("atoll serve"));
}

}  // namespace
}  // namespace atl::cli
