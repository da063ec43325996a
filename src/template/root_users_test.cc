#include "template/root_users.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

namespace atl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class Tree final {
 public:
  Tree() {
    EXPECT_NE(mkdtemp(path_), nullptr);
    fd_ = std::move(os::open_at(AT_FDCWD, path_, O_PATH | O_DIRECTORY)).value();
    EXPECT_TRUE(os::make_directory(fd_.get(), "etc", 0755));
  }
  ~Tree() { EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_)); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void write(const std::string& name, const std::string& text) const {
    const auto file = os::open_at(fd_.get(), name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    ASSERT_TRUE(file);
    ASSERT_TRUE(os::write_all(file->get(), text));
  }
  void link(const std::string& target, const std::string& name) const {
    ASSERT_EQ(symlinkat(target.c_str(), fd_.get(), name.c_str()), 0);
  }
  int fd() const { return fd_.get(); }

 private:
  char path_[32] = "/tmp/atoll-users-XXXXXX";
  Fd fd_;
};

TEST(RootUsers, AreNumbersByName) {
  EXPECT_THAT(parse_root_users("root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home/agent:\n"),
              ElementsAre(Pair("agent", 1000), Pair("root", 0)));
}

TEST(RootUsers, PassOverLinesThatMakeNoSense) {
  const std::string nul("a\0b:x:7:7::/:\n", 14);
  EXPECT_THAT(parse_root_users(nul + "# of nobody\n\n:x:5:5::/:\nshort:x:5\nminus:x:-1:0::/:\n"
                                     "large:x:65536:0::/:\nhuge:x:99999999999999999999:0::/:\n"
                                     "word:x:1000x:0::/:\nada:x:1001:5::/:\nada:x:0:0::/:\n"),
              ElementsAre(Pair("ada", 1001)));
}

TEST(RootUsers, AreNotMoreThanALimit) {
  std::string text;
  for (size_t i = 0; i < 2 * kMostRootUsers; ++i) text += "u" + std::to_string(i) + ":x:7:7::/:\n";
  EXPECT_THAT(parse_root_users(text), SizeIs(kMostRootUsers));
}

TEST(RootUsers, AreReadThroughNoLinkThatLeadsOut) {
  const Tree inside;
  inside.write("etc/people", "ada:x:1001:5::/:\n");
  inside.link("/etc/people", "etc/passwd");
  EXPECT_THAT(read_root_users(inside.fd()), ElementsAre(Pair("ada", 1001)));

  const Tree out;
  out.link("../../../../../../etc/passwd", "etc/passwd");
  EXPECT_THAT(read_root_users(out.fd()), IsEmpty());  // a link to itself, there
}

TEST(RootUsers, OfWhatIsNoFileAreNone) {
  const Tree without;
  EXPECT_THAT(read_root_users(without.fd()), IsEmpty());

  const Tree pipe;
  ASSERT_EQ(mkfifoat(pipe.fd(), "etc/passwd", 0644), 0);
  EXPECT_THAT(read_root_users(pipe.fd()), IsEmpty());

  const Tree large;
  large.write("etc/passwd", "ada:x:1001:5::/:\n" + std::string(2 << 20, '#'));
  EXPECT_THAT(read_root_users(large.fd()), IsEmpty());
}

}  // namespace
}  // namespace atl
