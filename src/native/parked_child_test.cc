#include "native/child/parked_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/fd.h"

namespace atl::native {
namespace {

struct Pipe {
  Fd out, in;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
};

// One for all tests: neither it nor its thread ever goes.
ParkedChild& parked() {
  static ParkedChild* const kParked = ParkedChild::create().value();
  return *kParked;
}

template <typename Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

std::string output_of(Result<pid_t> child, Pipe& said) {
  if (!child) return child.error().message();
  said.in.close();
  std::string text;
  char buffer[256];
  for (ssize_t got; (got = read(said.out.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  int status = 0;
  waitpid(*child, &status, 0);
  return text + (WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "killed");
}

Result<pid_t> start_shell(const char* program, const char* script, const Pipe& said) {
  static Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const char* programs[] = {program, nullptr};
  std::string words[] = {"sh", "-c", script};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char* environment[] = {nullptr};
  ChildPlan plan;
  plan.programs = programs;
  plan.argv = argv;
  plan.environment = environment;
  plan.stdio[0] = null.get();
  plan.stdio[1] = plan.stdio[2] = said.in.get();
  return parked().start(plan);
}

TEST(ParkedChild, JoinsAndWaitsAndRunsWhatComesLater) {
  for (int round = 0; round < 3; ++round) {
    const Pipe joined;
    ASSERT_TRUE(parked().is_free());
    parked().park({joined.in.get()});
    ASSERT_TRUE(comes_true([] { return parked().is_ready(); }));
    char zero = 0;
    EXPECT_EQ(read(joined.out.get(), &zero, 1), 1);
    EXPECT_EQ(zero, '0');
    // A pipe that is made when the child is there already.
    Pipe said;
    EXPECT_EQ(output_of(start_shell("/bin/sh", "echo here; exit 3", said), said), "here\n3");
  }
}

TEST(ParkedChild, SaysThatAProgramIsMissing) {
  parked().park({});
  ASSERT_TRUE(comes_true([] { return parked().is_ready(); }));
  const Pipe said;
  const auto child = start_shell("/no/such/program", "", said);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().os_errno(), ENOENT);
  EXPECT_TRUE(parked().is_free());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ParkedChild, IsOfNoUseWhenItCannotJoin) {
  parked().park({-1});
  EXPECT_TRUE(comes_true([] { return parked().is_free(); }));
  EXPECT_FALSE(parked().is_ready());
  EXPECT_GT(waitpid(-1, nullptr, 0), 0);
}

TEST(ParkedChild, IsOfNoUseWhenItWasKilled) {
  parked().park({});
  ASSERT_TRUE(comes_true([] { return parked().is_ready(); }));
  kill(parked().pid(), SIGKILL);
  EXPECT_GT(waitpid(-1, nullptr, 0), 0);
  EXPECT_TRUE(comes_true([] { return parked().is_free(); }));
  EXPECT_FALSE(parked().is_ready());
}

TEST(ParkedChild, KeepsNothingOpenThatItsParentHasClosed) {
  Pipe held;
  parked().park({});
  ASSERT_TRUE(comes_true([] { return parked().is_ready(); }));
  held.in.close();
  char byte;
  EXPECT_EQ(read(held.out.get(), &byte, 1), 0);
  kill(parked().pid(), SIGKILL);
  EXPECT_GT(waitpid(-1, nullptr, 0), 0);
  EXPECT_TRUE(comes_true([] { return parked().is_free(); }));
}

}  // namespace
}  // namespace atl::native
