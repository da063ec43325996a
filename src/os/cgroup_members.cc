#include "os/cgroup_members.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::os {
namespace {

constexpr size_t kMostBytes = 4 << 20;
constexpr size_t kHeldAtOnce = 64;

}  // namespace

std::vector<pid_t> cgroup_members(int group) {
  std::vector<pid_t> pids;
  const auto text = read_file(group, "cgroup.procs", kMostBytes);
  for (const auto& line : text ? split(*text, '\n') : std::vector<std::string>()) {
    if (const long pid = std::strtol(line.c_str(), nullptr, 10); pid > 1)
      pids.push_back(static_cast<pid_t>(pid));
  }
  std::ranges::sort(pids);
  return pids;
}

std::vector<pid_t> signal_members(const std::function<std::vector<pid_t>()>& members, int signal) {
  std::vector<pid_t> told;
  const auto all = members();
  for (std::span<const pid_t> left(all); !left.empty();) {
    const auto some = left.first(std::min(left.size(), kHeldAtOnce));
    left = left.subspan(some.size());
    std::vector<std::pair<pid_t, Fd>> held;
    for (const pid_t pid : some) {
      auto pidfd = open_pidfd(pid);
      if (pidfd || pidfd.error().os_errno() != ESRCH)
        held.emplace_back(pid, pidfd ? std::move(*pidfd) : Fd());
    }
    const auto still = members();
    for (const auto& [pid, pidfd] : held) {
      if (std::ranges::find(still, pid) == still.end()) continue;
      // Where no pidfd is to be had, the number must do.
      if (!pidfd) kill(pid, signal);
      if (pidfd) static_cast<void>(send_signal(pidfd, signal));
      told.push_back(pid);
    }
  }
  return told;
}

}  // namespace atl::os
