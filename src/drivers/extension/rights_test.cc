#include "drivers/extension/rights.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "os/file.h"

namespace atl::extension {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Rights, AreThoseOfWhoeverListens) {
  char name[] = "/tmp/atoll-rights-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const auto directory = os::open_at(AT_FDCWD, name, O_RDONLY | O_DIRECTORY).value();
  const auto listener = os::listen_at(directory.get(), "socket", os::SocketKind::stream, 0600);
  ASSERT_TRUE(listener);

  const auto rights = get_rights_at(std::string(name) + "/socket");

  ASSERT_TRUE(rights) << rights.error().message();
  EXPECT_EQ(rights->uid, geteuid());
  EXPECT_EQ(rights->are_too_many(), geteuid() == 0);
  ASSERT_TRUE(os::remove_tree(AT_FDCWD, name));
}

TEST(Rights, OfAnotherUserWhoHasThePidByNowAreNotTold) {
  EXPECT_TRUE(find_rights({.pid = getpid(), .uid = geteuid(), .gid = getegid()}));
  EXPECT_FALSE(find_rights({.pid = getpid(), .uid = geteuid() + 1, .gid = getegid()}));
  EXPECT_FALSE(find_rights({.pid = 0, .uid = geteuid(), .gid = getegid()}));
}

TEST(Rights, AreTooManyForRootAndWithCapabilities) {
  const Rights root{.uid = 0}, plain{.uid = 998, .no_new_privileges = true};
  const Rights strong{.uid = 998, .has_capabilities = true};

  EXPECT_THAT(warning_of(root), HasSubstr("runs as root"));
  EXPECT_THAT(warning_of(strong), HasSubstr("with capabilities"));
  EXPECT_THAT(warning_of(plain), IsEmpty());
  EXPECT_EQ(in_words(plain), "as user 998, without capabilities and without a way to more");
}

}  // namespace
}  // namespace atl::extension
