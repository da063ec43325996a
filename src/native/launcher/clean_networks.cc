#include "native/launcher/clean_networks.h"

#include <fcntl.h>
#include <sched.h>

#include <cstdlib>
#include <utility>

#include "native/child/box_child.h"
#include "os/file.h"

namespace atl::native {
namespace {

constexpr size_t kMostKept = 32;
constexpr size_t kLargestFile = 64 << 10;
// Sockets, packets of every protocol, and what version 6 remembers of routes and labels.
constexpr const char* kTold[] = {"sockstat", "dev",       "snmp",       "netstat",
                                 "snmp6",    "rt6_stats", "ipv6_route", "ip6_flowlabel"};

}  // namespace

CleanNetworks::CleanNetworks() {
  if (auto home = os::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY))
    home_ = std::move(*home);
  // What is looked up in it is that of the namespace in which this thread is then.
  if (auto told = os::open_at(AT_FDCWD, "/proc/thread-self/net", O_PATH | O_DIRECTORY))
    told_ = std::move(*told);
}

Fd CleanNetworks::take() {
  if (clean_.empty()) return {};
  Fd taken = std::move(clean_.back());
  clean_.pop_back();
  return taken;
}

void CleanNetworks::give_back(Fd network) {
  if (!network || clean_.size() >= kMostKept) return;
  // Most launchers of `atoll run` make one sandbox, and to learn what a new namespace is like takes
  // longer than to make one.
  if (!std::exchange(was_given_back_, true)) return;
  if (like_new_.empty()) {
    Fd fresh = make_network(home());
    if (!fresh) return;
    like_new_ = look_at(fresh);
    fresh.move_up(kNotForChildren);
    clean_.push_back(std::move(fresh));
  }
  if (!like_new_.empty() && look_at(network) == like_new_) clean_.push_back(std::move(network));
}

std::string CleanNetworks::look_at(const Fd& network) const {
  if (setns(network.get(), CLONE_NEWNET) != 0) return "";
  std::string seen;
  bool is_complete = true;
  for (const char* name : kTold) {
    const auto text = os::read_file(told_.get(), name, kLargestFile);
    // A host without version 6 lacks half of them, always the same.
    is_complete &= text || text.error().os_errno() == ENOENT;
    if (!text) continue;
    // Its other lines are of the whole host.
    seen += name == kTold[0] ? text->substr(0, text->find('\n')) : *text;
  }
  // Never in somebody else's: nothing of ours may happen there.
  if (setns(home(), CLONE_NEWNET) != 0) std::abort();
  return is_complete ? seen : "";
}

}  // namespace atl::native
