// libatoll as its users have it: against the real kernel, through the installed interface alone.
#include <atoll.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

namespace libatoll {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class LibatollTest : public ::testing::Test {
 protected:
  // The error that a call ends in.
  template <typename Call>
  static Error error_of(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error("", "", "");
  }
};

TEST_F(LibatollTest, ASandboxRunsCommands) {
  Sandbox box;
  const auto done = box.run({"python3", "-c", "print(6 * 7)"});

  EXPECT_EQ(done.out, "42\n");
  EXPECT_TRUE(done.ok());
  EXPECT_GT(done.peak_memory_bytes, 0U);
}

TEST_F(LibatollTest, ASandboxKeepsItsFilesUntilItGoes) {
  std::string id;
  {
    Sandbox box({.memory_mb = 64, .pids = 32});
    id = box.id();
    const std::string much(3 << 20, 'x');
    box.write("some/place/file", much);
    EXPECT_EQ(box.run({"wc", "-c", "some/place/file"}).out, "3145728 some/place/file\n");
    EXPECT_EQ(box.read("some/place/file"), much);
    EXPECT_EQ(error_of([&] { box.read("some/place/file", 1000); }).code(), "too_large");
    EXPECT_EQ(error_of([&] { box.read("none"); }).code(), "not_found");
    EXPECT_THAT(box.run({"cat", "/proc/meminfo"}).out, HasSubstr("65536 kB"));
  }
  Sandbox other;
  EXPECT_NE(other.id(), id);
  EXPECT_EQ(other.run({"ls"}).out, "");
}

TEST_F(LibatollTest, HowACommandEndsIsNoError) {
  Sandbox box({.env = {{"A", "of the sandbox"}, {"B", "b"}}});

  EXPECT_EQ(box.run({"sh", "-c", "exit 3"}).exit_code, 3);
  EXPECT_EQ(box.run({"sh", "-c", "kill -9 $$"}).signal, SIGKILL);
  EXPECT_EQ(box.run(Command{.argv = {"sleep", "60"}, .timeout = milliseconds(50)}).reason,
            "timeout");
  EXPECT_EQ(box.run({"no-such-program"}).exit_code, 127);
  const auto told = box.run({.argv = {"sh", "-c", "echo $A $B; pwd; cat; echo wrong >&2"},
                             .env = {{"A", "a"}},
                             .cwd = "/tmp",
                             .input = "input"});
  EXPECT_EQ(told.out, "a b\n/tmp\ninput");
  EXPECT_EQ(told.err, "wrong\n");
  const auto long_one = box.run({.argv = {"sh", "-c", "echo 123456789"}, .keep = 4});
  EXPECT_EQ(long_one.out.size(), 4U);
  EXPECT_TRUE(long_one.truncated);
}

TEST_F(LibatollTest, ASandboxThatOutlivesItsHostThrows) {
  auto host = std::make_unique<Host>(Host::Options{.parked = 0});
  Sandbox box({}, *host);
  host.reset();
  EXPECT_EQ(error_of([&] { box.run({"true"}); }).code(), "unavailable");
}

// Older than the shared host, and destroyed after it: ending the program must not crash.
std::optional<Sandbox> oldest;

TEST_F(LibatollTest, OneInAnOldObjectIsHarmlessAtTheEnd) {
  oldest.emplace();
  EXPECT_TRUE(oldest->run({"true"}).ok());
}

TEST_F(LibatollTest, ItTellsWhatItRunsOnAndIsNeverWeakerThanAsked) {
  Sandbox box({.min_isolation = "container"});
  EXPECT_EQ(box.isolation(), "container");
  EXPECT_EQ(box.run({"true"}).driver, box.driver());
  EXPECT_EQ(Host::shared().run({"true"}, {.driver = "subprocess"}).isolation, "process");
  EXPECT_EQ(error_of([] { Sandbox({.min_isolation = "vm"}); }).code(), "unsupported");
  EXPECT_EQ(error_of([] { Sandbox({.min_isolation = "much"}); }).code(), "invalid_argument");
}

TEST_F(LibatollTest, SandboxesCanBeMovedAbout) {
  std::vector<Sandbox> boxes;
  for (int i = 0; i < 3; ++i) boxes.emplace_back();
  const std::string last = boxes[2].id();
  boxes.erase(boxes.begin());
  EXPECT_EQ(boxes[1].id(), last);
  boxes[1].write("script", "#!/bin/sh\necho ran\n", 0755);
  EXPECT_EQ(boxes[1].run({"./script"}).out, "ran\n");
  const Sandbox taken(std::move(boxes[1]));
  EXPECT_EQ(error_of([&] { boxes[1].run({"true"}); }).code(), "conflict");
}

TEST_F(LibatollTest, ARunHasASandboxOfItsOwn) {
  const Command leave{.argv = {"sh", "-c", "ls; touch mark"}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Host::shared().run(leave).out, "");
}

TEST_F(LibatollTest, AnInterpreterMayBeRunningAlready) {
  const Command hello{.argv = {"python3", "-c", "print(1)"}};
  Command cold = hello;
  cold.warm = false;
  bool has_been_warm = false;
  // How soon one waits is the machine's affair.
  for (int i = 0; i < 500 && !has_been_warm; ++i) {
    const auto done = Host::shared().run(hello);
    EXPECT_EQ(done.out, "1\n");
    has_been_warm = done.warm;
  }
  EXPECT_TRUE(has_been_warm);
  EXPECT_FALSE(Host::shared().run(cold).warm);
}

TEST_F(LibatollTest, ItTellsWhetherASandboxWasMadeAhead) {
  Host without({.parked = 0});
  EXPECT_FALSE(without.run({"true"}).made_ahead);
  EXPECT_FALSE(Sandbox({}, without).made_ahead());

  bool was_run = false, was_made = false;
  // How soon one waits is the machine's affair.
  for (int i = 0; i < 500 && !(was_run && was_made); ++i) {
    was_run |= Host::shared().run({"true"}).made_ahead;
    Sandbox box;
    was_made |= box.made_ahead();
    EXPECT_EQ(box.run({"true"}).made_ahead, box.made_ahead());
  }
  EXPECT_TRUE(was_run && was_made);
}

TEST_F(LibatollTest, ManyRunsComeBackInOrder) {
  std::vector<Command> commands;
  for (int i = 0; i < 40; ++i) commands.push_back({.argv = {"echo", std::to_string(i)}});
  commands.push_back({.argv = {}});
  const auto outcomes = Host::shared().run_all(commands, 4);

  ASSERT_EQ(outcomes.size(), 41U);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(outcomes[i].out, std::to_string(i) + "\n");
  EXPECT_EQ(outcomes[40].reason, "infra");
  EXPECT_EQ(outcomes[40].code, "invalid_argument");
  EXPECT_NE(outcomes[40].err, "");
}

TEST_F(LibatollTest, ThreadsShareAHost) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 10; ++i) {
        const std::string word = std::to_string(t) + "." + std::to_string(i);
        EXPECT_EQ(Host::shared().run({.argv = {"echo", word}}).out, word + "\n");
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(LibatollTest, ADirectoryIsShownAsAsked) {
  const auto shown =
      std::filesystem::temp_directory_path() / ("libatoll-" + std::to_string(getpid()));
  std::filesystem::create_directory(shown);
  std::ofstream(shown / "file") << "seen";
  {
    Sandbox box({.directories = {{.host_path = shown, .path = "/shown"}}});
    EXPECT_EQ(box.run({"cat", "/shown/file"}).out, "seen");
    EXPECT_NE(box.run({"touch", "/shown/new"}).exit_code, 0);
  }
  {
    Sandbox box({.directories = {{shown, "/shown", Access::copy_on_write}}});
    EXPECT_EQ(box.run({"rm", "/shown/file"}).exit_code, 0);
  }
  EXPECT_TRUE(std::filesystem::exists(shown / "file"));
  std::filesystem::remove_all(shown);
}

TEST_F(LibatollTest, WhatCannotBeDoneSaysWhy) {
  EXPECT_EQ(error_of([] { Sandbox box({.driver = "none-such"}); }).code(), "not_found");
  EXPECT_EQ(error_of([] { Sandbox box({.warm = "perl"}); }).code(), "invalid_argument");
  EXPECT_EQ(error_of([] { Sandbox box({.directories = {{"/no/such/place"}}}); }).code(),
            "not_found");
  EXPECT_EQ(error_of([] { Sandbox().run(Command{}); }).code(), "invalid_argument");
  for (const Settings& wrong : {Settings{.cpus = -1}, Settings{.cpus = std::nan("")},
                                Settings{.pids = -1}, Settings{.memory_mb = SIZE_MAX}}) {
    EXPECT_EQ(error_of([&] { Sandbox box(wrong); }).code(), "invalid_argument");
  }
  EXPECT_THAT(error_of([] { Host host({.libexec = "/nowhere"}); }).what(),
              HasSubstr("atoll-launcher"));
}

TEST_F(LibatollTest, AHostOfYourOwnEndsWithEverythingInIt) {
  std::string id;
  {
    Host host({.parked = 0});
    Sandbox box({}, host);
    id = box.id();
    Sandbox moved(std::move(box));
    EXPECT_EQ(moved.run({"echo", "hi"}).out, "hi\n");
  }
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cgroup");
    const std::string groups((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(groups.find(id), std::string::npos) << process.path();
  }
}

TEST_F(LibatollTest, AForkedChildHasNoHostAndHarmsNobody) {
  Sandbox box;
  const pid_t child = fork();
  if (child == 0) {
    const auto error = error_of([&] { box.run({"true"}); });
    {
      const Sandbox taken(std::move(box));
    }  // ends nothing
    _exit(error.code() == "conflict" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(box.run({"echo", "still here"}).out, "still here\n");
}

TEST_F(LibatollTest, SignalsAreTheProgramsOwn) {
  static volatile sig_atomic_t taken_by = 0;
  struct sigaction action{}, before{};
  action.sa_handler = [](int) { taken_by = gettid(); };
  sigaction(SIGUSR1, &action, &before);
  Sandbox box;
  kill(getpid(), SIGUSR1);
  EXPECT_EQ(box.run({"true"}).exit_code, 0);
  EXPECT_EQ(taken_by, gettid());
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace libatoll
