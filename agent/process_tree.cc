#include "agent/process_tree.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "os/process.h"

namespace atl::agent {
namespace {

constexpr int kLooks = 8;

// Grows `members` by all whose parent is a member, until nothing is added.
void close_over_children(const std::vector<os::ProcessStat>& all, std::set<pid_t>& members) {
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& process : all) {
      if (members.contains(process.parent) && members.insert(process.pid).second) grown = true;
    }
  }
}

std::set<pid_t> members_of(pid_t root, const std::string& mark) {
  const pid_t self = getpid();
  const auto all = os::all_processes();
  std::set<pid_t> members;
  for (const auto& process : all) {
    if (process.pid == self || process.state == 'Z') continue;
    const bool orphan = process.parent == self && process.pid != root;
    if (process.pid == root || process.session == root ||
        (orphan && os::has_environment(process.pid, mark))) {
      members.insert(process.pid);
    }
  }
  close_over_children(all, members);
  return members;
}

// Nobody forks with a deadly signal pending, but a fork that was under way when we stopped its
// maker may still bring a child: only a look after the kill tells that nobody is left.
template <typename Find>
void stop_then_kill(Find find) {
  std::set<pid_t> stopped;
  for (int look = 0; look < kLooks; ++look) {
    bool news = false;
    for (const pid_t pid : find()) {
      if (stopped.insert(pid).second) {
        kill(pid, SIGSTOP);
        news = true;
      }
    }
    if (news) continue;
    for (const pid_t pid : stopped) kill(pid, SIGKILL);
    const auto left = find();
    if (std::ranges::includes(stopped, left)) return;
  }
  for (const pid_t pid : stopped) kill(pid, SIGKILL);
}

}  // namespace

std::set<pid_t> descendants() {
  const auto all = os::all_processes();
  std::set<pid_t> members{getpid()};
  close_over_children(all, members);
  members.erase(getpid());
  for (const auto& process : all) {
    if (process.state == 'Z') members.erase(process.pid);
  }
  return members;
}

void signal_tree(pid_t root, const std::string& mark, int signal) {
  if (signal == SIGKILL) {
    stop_then_kill([&] { return members_of(root, mark); });
    return;
  }
  for (const pid_t pid : members_of(root, mark)) kill(pid, signal);
}

void kill_descendants(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (descendants().empty()) return;
    stop_then_kill([] { return descendants(); });
  }
}

}  // namespace atl::agent
