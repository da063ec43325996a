#include "tests/support/host_census.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"
#include "tests/support/temp_directory.h"

namespace atl::test {
namespace {

using testing::HasSubstr;

TEST(HostCensus, SaysNothingWhenNothingChanged) {
  TempDirectory root;
  const auto before = HostCensus::take(root.path());

  EXPECT_EQ(HostCensus::take(root.path()).since(before), "");
}

TEST(HostCensus, NamesAFileThatWasLeft) {
  TempDirectory root;
  const auto before = HostCensus::take(root.path());
  std::ofstream(root / "left") << "x";

  EXPECT_EQ(HostCensus::take(root.path()).since(before), "files: + /left\n");
}

TEST(HostCensus, NamesADescriptorThatWasLeft) {
  TempDirectory root;
  const auto before = HostCensus::take(root.path());
  const Fd left(open("/dev/zero", O_RDONLY | O_CLOEXEC));

  EXPECT_EQ(HostCensus::take(root.path()).since(before), "descriptors: + /dev/zero\n");
}

TEST(HostCensus, NamesAProcessThatStandsInTheDirectoryAndForgetsItOnceItEnded) {
  TempDirectory root;
  const auto before = HostCensus::take(root.path());
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const Fd read_end(ready[0]);
  Fd write_end(ready[1]);
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(chdir(root.path().c_str()));
    char* argv[] = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
    execv("/bin/sleep", argv);
    _exit(127);
  }
  write_end.close();
  char byte;
  ASSERT_EQ(read(read_end.get(), &byte, 1), 0);  // the child's copy closes at its exec

  const auto during = HostCensus::take(root.path());
  ASSERT_EQ(kill(child, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto as_zombie = HostCensus::processes_of(root.path());
  ASSERT_EQ(waitpid(child, nullptr, 0), child);

  EXPECT_THAT(during.since(before), HasSubstr("processes: + sleep 1000"));
  EXPECT_TRUE(as_zombie.empty());
}

TEST(HostCensus, TellsWhatIsMissingToo) {
  TempDirectory root;
  std::ofstream(root / "there") << "x";
  const auto before = HostCensus::take(root.path());
  unlink((root / "there").c_str());

  EXPECT_EQ(HostCensus::take(root.path()).since(before), "files: - /there\n");
}

}  // namespace
}  // namespace atl::test
