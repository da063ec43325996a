#include "native/oci/runtime.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::native {
namespace {

constexpr const char* kGroup = "sentry";
constexpr const char* kContainer = "sandbox";
constexpr const char* kState = "state";
constexpr int kLookEveryMs = 100;
// Where the runtime finds a directory that is nowhere in the box.
constexpr int kImagePlace = 3;
constexpr const char* kImagePath = "--image-path=/proc/self/fd/3";
constexpr auto kOrderPatience = std::chrono::seconds(30);
constexpr auto kKeepPatience = std::chrono::minutes(5);
constexpr size_t kKeptMessages = 300;

// The files to write "0" into. On version 2 processes are only in groups without groups below, and
// the launcher has handed controllers down to those below `work`.
Result<std::vector<Fd>> open_joins(const RuntimeGroups& groups) {
  std::vector<Fd> joins;
  for (const auto& work : groups.work) {
    std::string file = join_file(groups.version);
    if (groups.version == CgroupVersion::v2) {
      if (auto made = os::make_directory(work.get(), kGroup, 0755);
          !made && made.error().os_errno() != EEXIST) {
        return std::move(made).error().with("the runtime's cgroup");
      }
      file.insert(0, "/").insert(0, kGroup);
    }
    TRY(auto join, os::open_at(work.get(), file, O_WRONLY));
    joins.push_back(std::move(join));
  }
  return joins;
}

[[noreturn]] void become_runtime(const std::vector<Fd>& joins, int input, int output, int image,
                                 const std::vector<std::string>& words) {
  // Neither lives without the other: who is left of the two would be nobody's.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const auto fail = [](const char* what) {
    std::perror(what);
    _exit(127);
  };
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) _exit(127);
  for (const auto& join : joins) {
    if (write(join.get(), "0", 1) != 1) fail("joining the sandbox's cgroup");
  }
  if (dup2(input, STDIN_FILENO) < 0) fail("placing stdin");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (image >= 0 && dup2(image, kImagePlace) < 0) fail("placing the image");
  const std::string state = std::string("--root=") + kRuntimeDirectory + "/" + kState;
  // Cgroups are ours, and there is no network but the second kernel's own loopback.
  std::vector<const char*> arguments{"runsc", state.c_str(), "--network=none", "--ignore-cgroups"};
  for (const auto& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  const char* const environment[] = {"PATH=/usr/bin:/bin", nullptr};
  execve(kRuntimeProgram, const_cast<char* const*>(arguments.data()),
         const_cast<char* const*>(environment));
  fail("executing runsc");
  __builtin_unreachable();
}

}  // namespace

Result<> write_bundle(const std::string& config) {
  TRY(auto directory, os::open_at(AT_FDCWD, kRuntimeDirectory, O_RDONLY | O_DIRECTORY));
  TRY_OK(os::make_directory(directory.get(), "bundle", 0700));
  TRY(auto bundle, os::open_at(directory.get(), "bundle", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return os::replace_file(bundle.get(), "config.json", config, 0600);
}

namespace {

Result<StartedRuntime> start_with(const RuntimeGroups& groups, int input, int image,
                                  const std::vector<std::string>& words) {
  TRY(const auto joins, open_joins(groups));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return os_error("making a pipe");
  StartedRuntime started;
  started.messages = Fd(ends[0]);
  const Fd output(ends[1]);
  started.pid = fork();
  if (started.pid < 0) return os_error("starting runsc");
  if (started.pid == 0) become_runtime(joins, input, output.get(), image, words);
  return started;
}

// True once the process has ended, and is reaped.
bool wait_for_end(pid_t pid, Micros deadline, int& status) {
  const auto ended = os::open_pidfd(pid);
  while (ended) {
    if (waitpid(pid, &status, WNOHANG) != 0) return true;
    const auto left = std::chrono::ceil<Millis>(deadline - system_clock().boot());
    if (left.count() <= 0) return false;
    pollfd wait{ended->get(), POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
  }
  return true;
}

}  // namespace

Result<StartedRuntime> start_runtime(const RuntimeGroups& groups, const Fd& input, int image) {
  const std::string bundle = std::string("--bundle=") + kRuntimeDirectory + "/bundle";
  std::vector<std::string> words{"run", bundle, kContainer};
  if (image >= 0) words = {"restore", bundle, kImagePath, kContainer};
  return start_with(groups, input.get(), image, words);
}

Result<> order_runtime(const RuntimeGroups& groups, RuntimeOrder order, int image) {
  TRY(const auto nothing, os::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  std::vector<std::string> words{order == RuntimeOrder::pause ? "pause" : "resume", kContainer};
  if (order == RuntimeOrder::keep) words = {"checkpoint", kImagePath, kContainer};
  TRY(const auto started, start_with(groups, nothing.get(), image, words));
  const Micros patience = order == RuntimeOrder::keep ? Micros(kKeepPatience) : kOrderPatience;
  int status = 0;
  if (!wait_for_end(started.pid, system_clock().boot() + patience, status)) {
    kill(started.pid, SIGKILL);
    waitpid(started.pid, nullptr, 0);
    return Error(Code::deadline_exceeded, "runsc " + words[0] + " takes too long");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said(kKeptMessages, '\0');
  const ssize_t got = read(started.messages.get(), said.data(), said.size());
  said.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return Error(Code::unavailable, "runsc " + words[0] + ": " + to_printable(said));
}

Result<> end_runtime(const Fd& signals) {
  // Anywhere else this would be everybody on the host.
  if (getpid() != 1) return Error(Code::internal, "runsc is not alone with its gatekeeper");
  // Whoever is killed leaves his children to us, so in the end all of them are ours to reap.
  kill(-1, SIGKILL);
  const Micros deadline = system_clock().boot() + kOrderPatience;
  for (pid_t pid = 0; pid >= 0;) {
    pid = waitpid(-1, nullptr, WNOHANG);
    if (pid != 0) continue;
    if (system_clock().boot() >= deadline)
      return Error(Code::deadline_exceeded, "runsc does not end");
    pollfd wait{signals.get(), POLLIN, 0};
    static_cast<void>(poll(&wait, 1, kLookEveryMs));
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) == sizeof info) {
    }
  }
  TRY(const auto directory, os::open_at(AT_FDCWD, kRuntimeDirectory, O_RDONLY | O_DIRECTORY));
  return os::remove_tree(directory.get(), kState);
}

}  // namespace atl::native
