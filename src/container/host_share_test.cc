#include "container/host_share.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/engine_driver.h"
#include "os/file.h"

namespace atl::container {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::vector<HostShare>> share_at(const std::string& target, ShareRules rules = {{"/"}, ""}) {
  SandboxSpec spec;
  TRY(auto directory, os::open_at(AT_FDCWD, "/usr", O_PATH | O_DIRECTORY));
  spec.mounts.push_back({std::move(directory), "/usr", target, HostAccess::rw});
  return make_shares(spec, rules);
}

TEST(HostShare, IsShownWhereNothingElseIs) {
  for (const char* target : {"/data", "/workspace", "/workspace/x", "/tmp", "/opt/tools",
                             "/etc/app", "/home/user/.cache"}) {
    const auto shares = share_at(target);
    ASSERT_TRUE(shares) << target << ": " << shares.error().message();
    EXPECT_EQ(shares->front().target, target);
  }
}

TEST(HostShare, IsRefusedWhereAPlaceForOthersWouldBeMadeInTheHostsDirectory) {
  for (const char* target : {"/", "/opt", "/opt/", "/opt/atoll", "//opt//atoll/./door",
                             "/opt/atoll/agent", "/proc", "/proc/sys", "/sys", "/dev", "/dev/shm",
                             "/etc", "/etc/hosts", "/etc/resolv.conf", "/home", "/var"}) {
    const auto refused = share_at(target);
    ASSERT_FALSE(refused) << target;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument) << target;
    EXPECT_THAT(refused.error().message(), HasSubstr("nothing can be shown at")) << target;
  }
  EXPECT_TRUE(share_at("/run/x"));
  ShareRules with_socket{{"/"}, ""};
  with_socket.socket_inside = "/var/run/docker.sock";
  EXPECT_FALSE(share_at("/var/run", with_socket));
}

TEST(HostShare, RootsAreAbsolute) {
  EXPECT_THAT(*parse_share_roots(""), IsEmpty());
  EXPECT_THAT(*parse_share_roots("/srv/a:/srv/b"), ElementsAre("/srv/a", "/srv/b"));
  const auto relative = parse_share_roots("/srv/a:projects");
  ASSERT_FALSE(relative);
  EXPECT_THAT(relative.error().message(), HasSubstr("projects is not an absolute path"));
}

TEST(PullPatience, IsSeconds) {
  EXPECT_EQ(*parse_pull_patience(""), kPullPatience);
  EXPECT_EQ(*parse_pull_patience("90"), Millis(90'000));
  for (const char* text : {"-1", "0", "abc", "90s", "86401", "99999999999999999999"}) {
    const auto refused = parse_pull_patience(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("ATOLL_PULL_TIMEOUT")) << text;
  }
}

}  // namespace
}  // namespace atl::container
