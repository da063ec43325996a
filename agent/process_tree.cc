#include "agent/process_tree.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

namespace atl::agent {
namespace {

constexpr int kLooks = 8;

// By pid. Each is signalled as who it was when it was found: its pid may be a stranger's by then.
using Members = std::map<pid_t, os::ProcessStat>;

// Grows `members` by all whose parent is a member, until nothing is added.
void close_over_children(const std::vector<os::ProcessStat>& all, Members& members) {
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& process : all) {
      if (members.contains(process.parent) && members.emplace(process.pid, process).second)
        grown = true;
    }
  }
}

Members members_of(pid_t root, const std::string& mark) {
  const pid_t self = getpid();
  const auto all = os::all_processes();
  Members members;
  for (const auto& process : all) {
    if (process.pid == self || process.state == 'Z') continue;
    const bool orphan = process.parent == self && process.pid != root;
    if (process.pid == root || process.session == root ||
        (orphan && os::has_environment(process.pid, mark))) {
      members.emplace(process.pid, process);
    }
  }
  close_over_children(all, members);
  return members;
}

Members everybody_below() {
  const auto all = os::all_processes();
  Members members{{getpid(), {}}};
  close_over_children(all, members);
  members.erase(getpid());
  std::erase_if(members, [](const auto& member) { return member.second.state == 'Z'; });
  return members;
}

void signal_each(const Members& members, int signal) {
  for (const auto& [pid, process] : members) signal_process(process, signal);
}

// Nobody forks with a deadly signal pending, but a fork that was under way when we stopped its
// maker may still bring a child: only a look after the kill tells that nobody is left.
template <typename Find>
void stop_then_kill(Find find) {
  Members stopped;
  const auto is_news = [&](const auto& member) {
    const auto known = stopped.find(member.first);
    return known == stopped.end() || !os::is_still(known->second, member.second);
  };
  for (int look = 0; look < kLooks; ++look) {
    bool news = false;
    for (const auto& member : find()) {
      if (!is_news(member)) continue;
      stopped.insert_or_assign(member.first, member.second);
      signal_process(member.second, SIGSTOP);
      news = true;
    }
    if (news) continue;
    signal_each(stopped, SIGKILL);
    if (std::ranges::none_of(find(), is_news)) return;
  }
  signal_each(stopped, SIGKILL);
}

}  // namespace

void signal_process(const os::ProcessStat& process, int signal) {
  const auto pidfd = os::open_pidfd(process);
  if (pidfd) {
    static_cast<void>(os::send_signal(*pidfd, signal));
    return;
  }
  const bool has_ended =
      pidfd.error().code() == Code::not_found || pidfd.error().os_errno() == ESRCH;
  const auto now = has_ended ? std::nullopt : os::find_process(process.pid);
  if (now && os::is_still(process, *now)) kill(process.pid, signal);
}

std::set<pid_t> descendants() {
  std::set<pid_t> pids;
  for (const auto& [pid, process] : everybody_below()) pids.insert(pid);
  return pids;
}

void signal_tree(pid_t root, const std::string& mark, int signal) {
  if (signal == SIGKILL) {
    stop_then_kill([&] { return members_of(root, mark); });
    return;
  }
  signal_each(members_of(root, mark), signal);
}

void kill_descendants(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (everybody_below().empty()) return;
    stop_then_kill(everybody_below);
  }
}

}  // namespace atl::agent
