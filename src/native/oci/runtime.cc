#include "native/oci/runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os/file.h"

namespace atl::native {
namespace {

constexpr const char* kGroup = "sentry";

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

[[noreturn]] void become_runtime(const std::vector<Fd>& joins, int input, int output) {
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
  const std::string directory = kRuntimeDirectory;
  const std::string state = "--root=" + directory + "/state";
  const std::string bundle = "--bundle=" + directory + "/bundle";
  // Cgroups are ours, and there is no network but the second kernel's own loopback.
  const char* const arguments[] = {"runsc", state.c_str(),  "--network=none", "--ignore-cgroups",
                                   "run",   bundle.c_str(), "sandbox",        nullptr};
  const char* const environment[] = {"PATH=/usr/bin:/bin", nullptr};
  execve(kRuntimeProgram, const_cast<char* const*>(arguments),
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

Result<StartedRuntime> start_runtime(const RuntimeGroups& groups, const Fd& input) {
  TRY(const auto joins, open_joins(groups));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return os_error("making a pipe");
  StartedRuntime started;
  started.messages = Fd(ends[0]);
  const Fd output(ends[1]);
  started.pid = fork();
  if (started.pid < 0) return os_error("starting runsc");
  if (started.pid == 0) become_runtime(joins, input.get(), output.get());
  return started;
}

}  // namespace atl::native
