#include "native/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"

namespace atl::native {
namespace {

// Whether a restricted child can open each path for reading; bit i for the i-th.
int readable_under(const LandlockRules& rules, const std::vector<std::string>& paths) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_landlock_restrict_self, rules.descriptor(), 0) != 0) _exit(255);
    int seen = 0;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (open(paths[i].c_str(), O_RDONLY) >= 0) seen |= 1 << i;
    }
    _exit(seen);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(Landlock, AllowsExactlyWhatItWasToldTo) {
  auto rules = LandlockRules::create();
  ASSERT_TRUE(rules.has_value()) << rules.error().message();
  ASSERT_TRUE(rules->allow_if_present("/usr", FileAccess::read_execute).has_value());
  ASSERT_TRUE(rules->allow_if_present("/etc/passwd", FileAccess::read_only).has_value());
  ASSERT_TRUE(rules->allow_if_present("/does/not/exist", FileAccess::read_only).has_value());

  EXPECT_EQ(readable_under(*rules, {"/usr/bin/env", "/etc/passwd", "/etc/group", "/etc"}), 0b0011);
}

}  // namespace
}  // namespace atl::native
