#include "container/host_share.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

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

TEST(HostShare, IsShownInAHomeOfAnotherNameAndNotAroundIt) {
  const ShareRules rules{.roots = {"/"}, .engine_socket = "", .home = "/home/agent"};

  EXPECT_TRUE(share_at("/home/agent", rules));
  EXPECT_TRUE(share_at("/home/agent/work", rules));
  EXPECT_FALSE(share_at("/home", rules));
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

// The directory, which is given by its real path, where an engine listens at `socket`.
Result<std::vector<HostShare>> share_beside(const std::string& directory,
                                            const std::string& socket) {
  SandboxSpec spec;
  TRY(auto opened, os::open_at(AT_FDCWD, directory, O_PATH | O_DIRECTORY));
  spec.mounts.push_back({std::move(opened), directory, "/data", HostAccess::ro});
  return make_shares(spec, {{"/"}, socket});
}

class Place {
 public:
  Place() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~Place() { std::filesystem::remove_all(path_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/atoll-share-XXXXXX";
};

TEST(HostShare, IsNeverTheWayToAnEnginesSocketWhateverThatIsCalled) {
  const Place place;
  const std::string engine = place / "real/engine";
  std::filesystem::create_directories(engine);
  std::filesystem::create_directories(place / "real/beside");
  std::filesystem::create_directory_symlink("real", place / "linked");
  // It need not be there yet.
  for (const std::string& socket :
       {engine + "/engine.sock", place / "linked/engine/engine.sock",
        place / "linked/./engine/../engine/engine.sock", place / "linked/engine/later/e.sock"}) {
    for (const std::string& shown : {engine, place / "real", place.path()}) {
      const auto refused = share_beside(shown, socket);
      ASSERT_FALSE(refused) << shown << " of " << socket;
      EXPECT_EQ(refused.error().code(), Code::permission_denied);
      EXPECT_THAT(refused.error().message(), HasSubstr("the engine's socket is in " + shown));
    }
    EXPECT_TRUE(share_beside(place / "real/beside", socket)) << socket;
  }
  // The socket may be a link itself.
  std::filesystem::create_symlink(engine + "/engine.sock", place / "real/beside/engine.sock");
  std::ofstream(engine + "/engine.sock") << "";
  EXPECT_FALSE(share_beside(engine, place / "real/beside/engine.sock"));
  // A profile may allow it.
  EXPECT_TRUE(share_beside(engine, ""));
}

TEST(HostShare, IsNotTheWayToAnotherEngine) {
  const auto refused = share_beside("/run", "/nonexistent/engine.sock");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::permission_denied);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("the place of an engine's socket, /run/docker.sock, is in /run"));
  EXPECT_FALSE(share_beside("/", "tcp://127.0.0.1:2375"));
  EXPECT_TRUE(share_beside("/usr", "tcp://127.0.0.1:2375"));
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
