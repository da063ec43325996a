#include "config/search.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

namespace atl::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<std::string> nothing(std::string_view) { return std::nullopt; }

class Search : public ::testing::Test {
 protected:
  Search() {
    char name[] = "/tmp/atoll-search-XXXXXX";
    base_ = mkdtemp(name);
  }
  ~Search() override { static_cast<void>(os::remove_tree(AT_FDCWD, base_)); }

  void directory(const std::string& name) {
    ASSERT_EQ(mkdir((base_ + "/" + name).c_str(), 0755), 0);
  }
  void file(const std::string& name, const std::string& text = "version: 1\n") {
    const Fd fd(open((base_ + "/" + name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    ASSERT_TRUE(os::write_all(fd.get(), text));
  }
  std::vector<std::string> found(Places places) {
    if (!places.current_directory.empty())
      places.current_directory = base_ + "/" + places.current_directory;
    std::vector<std::string> names;
    for (const Found& one : find_files(places)) {
      const bool ours = one.path.starts_with(base_ + "/");
      names.push_back(std::string(to_string(one.from)) + ": " +
                      (ours ? one.path.substr(base_.size() + 1) : one.path));
    }
    return names;
  }

  std::string base_;
};

TEST_F(Search, GoesUpToTheWorkTree) {
  directory("tree");
  directory("tree/.git");
  directory("tree/deep");
  directory("tree/deep/er");
  file("tree/atoll.yaml");
  file("atoll.yaml");

  EXPECT_THAT(found({.current_directory = "tree/deep/er"}),
              ElementsAre("project file: tree/atoll.yaml"));
}

TEST_F(Search, DoesNotGoBeyondIt) {
  directory("tree");
  directory("tree/.git");
  file("atoll.yaml");

  EXPECT_THAT(found({.current_directory = "tree"}), IsEmpty());
}

TEST_F(Search, GoesUpToTheHomeDirectory) {
  directory("home");
  directory("home/work");
  file("home/atoll.yaml");

  EXPECT_THAT(found({.current_directory = "home/work", .home = base_ + "/home"}),
              ElementsAre("project file: home/atoll.yaml"));
}

TEST_F(Search, OutsideOfBothLooksOnlyWhereItStands) {
  directory("a");
  directory("a/b");
  file("a/atoll.yaml");

  EXPECT_THAT(found({.current_directory = "a/b", .home = "/nonexistent"}), IsEmpty());
  EXPECT_THAT(found({.current_directory = "a", .home = "/nonexistent"}),
              ElementsAre("project file: a/atoll.yaml"));
}

TEST_F(Search, TheNearestIsTheProjects) {
  directory("tree");
  directory("tree/.git");
  directory("tree/part");
  file("tree/atoll.yaml");
  file("tree/part/cognition.yaml");

  EXPECT_THAT(found({.current_directory = "tree/part"}),
              ElementsAre("project file: tree/part/cognition.yaml"));
  file("tree/part/atoll.yaml");
  EXPECT_THAT(found({.current_directory = "tree/part"}),
              ElementsAre("project file: tree/part/atoll.yaml"));
}

TEST_F(Search, TheOrderIsProjectUserSystem) {
  directory("tree");
  directory("user");
  directory("user/atoll");
  directory("system");
  file("tree/atoll.yaml");
  file("user/atoll/atoll.yaml");
  file("system/atoll.yaml");
  Places places{.current_directory = "tree",
                .user_directory = base_ + "/user",
                .system_directory = base_ + "/system"};

  EXPECT_THAT(found(places),
              ElementsAre("project file: tree/atoll.yaml", "user file: user/atoll/atoll.yaml",
                          "system file: system/atoll.yaml"));
  places.named = "/some/where.yaml";
  EXPECT_THAT(found(places),
              ElementsAre("named file: /some/where.yaml", "user file: user/atoll/atoll.yaml",
                          "system file: system/atoll.yaml"));
  places.named = "none";
  EXPECT_THAT(found(places), IsEmpty());
}

TEST_F(Search, OnlyAPlainFileIsAProjects) {
  file("real.yaml");
  ASSERT_EQ(symlink("real.yaml", (base_ + "/link.yaml").c_str()), 0);
  ASSERT_EQ(mkfifo((base_ + "/pipe.yaml").c_str(), 0644), 0);

  EXPECT_FALSE(read_layer({From::project, base_ + "/link.yaml"}, nothing));
  EXPECT_TRUE(read_layer({From::named, base_ + "/link.yaml"}, nothing));
  const auto pipe = read_layer({From::project, base_ + "/pipe.yaml"}, nothing);
  ASSERT_FALSE(pipe);
  EXPECT_THAT(pipe.error().message(), HasSubstr("no plain file"));
}

TEST_F(Search, AProjectFileOfSomebodyElsesIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  file("theirs.yaml");
  const std::string path = base_ + "/theirs.yaml";
  ASSERT_EQ(chown(path.c_str(), 4242, 4242), 0);

  unsetenv("SUDO_UID");
  const auto refused = read_layer({From::project, path}, nothing);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::permission_denied);
  EXPECT_THAT(refused.error().message(), HasSubstr("belongs to another user"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("--config"));
  EXPECT_TRUE(read_layer({From::named, path}, nothing));

  setenv("SUDO_UID", "4242", 1);
  EXPECT_TRUE(read_layer({From::project, path}, nothing));
  unsetenv("SUDO_UID");
}

TEST_F(Search, AFileThatIsTooLargeIsRefused) {
  file("large.yaml", std::string(kLargestFile + 1, '#'));

  const auto layer = read_layer({From::named, base_ + "/large.yaml"}, nothing);
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().code(), Code::too_large);
}

}  // namespace
}  // namespace atl::config
