#include "agent/homes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/users.h"
#include "base/fd.h"
#include "tests/support/require.h"

namespace atl::agent {
namespace {

namespace fs = std::filesystem;

// A root with a passwd and homes, all of it ours.
class Root {
 public:
  explicit Root(const std::string& passwd) {
    char path[] = "/tmp/atoll-homes-XXXXXX";
    if (mkdtemp(path) != nullptr) path_ = path;
    for (const char* name : {"etc", "home/ada/deep", "home/grace", "srv"})
      fs::create_directories(at(name));
    write("etc/passwd", passwd);
    write("home/ada/deep/note", "x");
    write("home/ada/large", std::string(kLargestFileOfHome + 1, 'x'));
    write("srv/file", "x");
    fd_ = Fd(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  std::string at(const std::string& path) const { return path_ + "/" + path; }
  void write(const std::string& path, const std::string& text) { std::ofstream(at(path)) << text; }
  int fd() const { return fd_.get(); }
  uid_t owner(const std::string& path) const {
    struct stat info{};
    return lstat(at(path).c_str(), &info) == 0 ? info.st_uid : static_cast<uid_t>(-1);
  }

 private:
  std::string path_;
  Fd fd_;
};

constexpr const char* kPeople =
    "root:x:0:0::/root:/bin/sh\nada:x:1001:1001::/home/ada:/bin/sh\n"
    "service:x:33:33::/home/grace:/bin/sh\nlinus:x:1002:1002::/srv:/bin/sh\n";

TEST(Homes, BelongToThePeopleWhoLiveThere) {
  ATOLL_REQUIRE(geteuid() == 0, "needs root");
  const Root root(kPeople);
  give_homes(root.fd());
  EXPECT_EQ(root.owner("home/ada"), 1001u);
  EXPECT_EQ(root.owner("home/ada/deep/note"), 1001u);
}

TEST(Homes, NothingElseIsGivenAway) {
  ATOLL_REQUIRE(geteuid() == 0, "needs root");
  const Root root(kPeople);
  give_homes(root.fd());
  EXPECT_EQ(root.owner("home"), 0u);
  EXPECT_EQ(root.owner("home/grace"), 0u);  // of a service
  EXPECT_EQ(root.owner("srv"), 0u);         // not below /home
  EXPECT_EQ(root.owner("home/ada/large"), 0u);
}

TEST(Homes, LinksLeadNowhere) {
  ATOLL_REQUIRE(geteuid() == 0, "needs root");
  const Root root(
      "a:x:1001:1001::/home/link:/bin/sh\nb:x:1002:1002::/home/..:/bin/sh\n"
      "c:x:1003:1003::/home/ada/../../srv:/bin/sh\nd:x:1004:1004::/home/grace:/bin/sh\n");
  fs::create_directory_symlink("../srv", root.at("home/link"));
  fs::create_symlink("../../srv/file", root.at("home/grace/link"));
  give_homes(root.fd());
  EXPECT_EQ(root.owner("srv"), 0u);
  EXPECT_EQ(root.owner("srv/file"), 0u);
  EXPECT_EQ(root.owner("etc"), 0u);
  EXPECT_EQ(root.owner("home/grace/link"), 1004u);
}

TEST(OnlyUser, HasTheNameAndTheHomeOfTheImage) {
  const std::string self = std::to_string(geteuid());
  const Root root("me:x:" + self + ":5::/home/ada:/bin/sh\nother:x:4242:5::/:/bin/sh\n");
  for (const char* asked : {"", "user", "me"}) {
    const auto user = find_only_user(root.fd(), asked);
    ASSERT_TRUE(user.has_value()) << asked;
    EXPECT_EQ(user->name, "me");
    EXPECT_EQ(user->home, "/home/ada");
    EXPECT_EQ(user->uid, geteuid());
    EXPECT_EQ(user->gid, getegid());
  }
  EXPECT_EQ(find_only_user(root.fd(), "other").error().code(), Code::unsupported);
  EXPECT_EQ(find_only_user(root.fd(), "nobody-here").error().code(), Code::unsupported);
}

TEST(OnlyUser, HasOurHomeWhereTheImagesCannotBeWrittenTo) {
  const Root root("me:x:" + std::to_string(geteuid()) + ":5::/nonexistent:/bin/sh\n");
  const auto user = find_only_user(root.fd(), "");
  EXPECT_EQ(user->home, "/home/user");
  EXPECT_EQ(user->listed_home, "/nonexistent");
}

TEST(MovedHome, IsSearchedBeforeTheImages) {
  EXPECT_EQ(with_moved_home("/usr/bin:/home/agent/.local/bin:/bin", "/home/agent", "/home/user"),
            "/usr/bin:/home/user/.local/bin:/home/agent/.local/bin:/bin");
  EXPECT_EQ(with_moved_home("/home/agents/bin:/bin", "/home/agent", "/home/user"),
            "/home/agents/bin:/bin");
  // The places of a user whose home is the root are everybody's.
  EXPECT_EQ(with_moved_home("/usr/bin:/bin", "/", "/home/user"), "/usr/bin:/bin");
  EXPECT_EQ(with_moved_home("", "/home/agent", "/home/user"), "");
}

}  // namespace
}  // namespace atl::agent
