#include "native/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace atl::native {
namespace {

constexpr const char* kSliceName = "atoll";
constexpr const char* kWork = "work";
constexpr const char* kAgent = "agent";
constexpr const char* kFirstCommand = "exec-1";
constexpr const char* kSupervisor = "atoll-supervisor";
constexpr auto kPatience = std::chrono::seconds(5);
constexpr int kAttempts = 5;
// An agent makes one level below `work`; one that has been taken over could make any number.
constexpr int kDeepest = 32;
// A sandbox has its agent in it from the moment it is made.
constexpr time_t kAbandonedSeconds = 600;

struct Mounted {
  std::string path;
  std::vector<std::string> controllers;  // empty for v2
  bool v2 = false;
};

// "36 35 0:30 / /sys/fs/cgroup/memory rw,… - cgroup cgroup rw,memory"
std::vector<Mounted> mounted_trees() {
  std::vector<Mounted> found;
  const auto text = os::read_file(AT_FDCWD, "/proc/self/mountinfo", 1 << 20);
  for (const auto& line : text ? split(*text, '\n') : std::vector<std::string>()) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] == "cgroup2") found.push_back({left[4], {}, true});
    if (right[0] == "cgroup") found.push_back({left[4], split(right[2], ','), false});
  }
  return found;
}

std::vector<std::string> own_places() {
  const auto text = os::read_file(AT_FDCWD, "/proc/self/cgroup", 64 << 10);
  return text ? split(*text, '\n') : std::vector<std::string>();
}

// Where this process is in a tree, "/" at its top: "4:memory:/a/b", "0::/a/b".
std::string own_place(const std::vector<std::string>& places, const std::string& controller) {
  for (const auto& line : places) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const auto names = split(parts[1], ',');
    const bool here =
        controller.empty() ? parts[0] == "0" : std::ranges::find(names, controller) != names.end();
    if (here && parts[2].find("..") == std::string::npos) return parts[2] == "/" ? "" : parts[2];
  }
  return "";
}

bool is_writable(const std::string& path) { return access(path.c_str(), W_OK) == 0; }

bool contains_word(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string found; words >> found;) {
    if (found == word) return true;
  }
  return false;
}

Result<Fd> open_directory(int parent, const std::string& name) {
  return os::open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<Fd> make_group(int parent, const std::string& name) {
  for (int attempt = 1;; ++attempt) {
    if (mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) {
      return os_error("making the cgroup", name);
    }
    auto group = open_directory(parent, name);
    // Another launcher that leaves removes an empty slice, also between the two calls.
    if (group || group.error().os_errno() != ENOENT || attempt == kAttempts) return group;
  }
}

std::vector<std::string> subgroups(int directory) {
  std::vector<std::string> names;
  auto copy = os::open_at(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!copy) return names;
  std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(copy->release()), closedir);
  while (const dirent* entry = stream ? readdir(stream.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.push_back(name);
  }
  return names;
}

void kill_members(int group) {
  const auto procs = [group] { return os::read_file(group, "cgroup.procs", 4 << 20).value_or(""); };
  for (const auto& line : split(procs(), '\n')) {
    const auto pidfd = os::open_pidfd(std::atoi(line.c_str()));
    // Still named once it is held: the number is no stranger's.
    if (pidfd && contains_word(procs(), line)) static_cast<void>(os::send_signal(*pidfd, SIGKILL));
  }
}

// Removes `name` in `parent` and everything below, ending who is in it.
Result<> remove_group(int parent, const std::string& name, Micros give_up, int depth = 0) {
  if (depth > kDeepest) return Error(Code::too_large, "a cgroup is nested too deep to be removed");
  auto group = open_directory(parent, name);
  if (!group) {
    if (group.error().os_errno() == ENOENT) return {};
    return std::move(group).error();
  }
  for (const auto& below : subgroups(group->get())) {
    TRY_OK(remove_group(group->get(), below, give_up, depth + 1));
  }
  for (;;) {
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY || system_clock().boot() > give_up) {
      return os_error("removing the cgroup", name);
    }
    // The dying are counted until they are reaped; the kernel tells nobody on v1.
    kill_members(group->get());
    poll(nullptr, 0, 1);
  }
}

// Anybody in it or below; who cannot be counted counts.
bool has_members(const Fd& group, int depth = 0) {
  if (depth > kDeepest) return true;
  const auto members = os::read_file(group.get(), "cgroup.procs", 4 << 20);
  if (!members || !members->empty()) return true;
  return std::ranges::any_of(subgroups(group.get()), [&](const std::string& name) {
    auto below = open_directory(group.get(), name);
    return !below || has_members(*below, depth + 1);
  });
}

// Both that no sandbox goes without.
bool names_memory_and_pids(const Result<std::string>& controllers) {
  return controllers && contains_word(*controllers, "memory") &&
         contains_word(*controllers, "pids");
}

bool is_delegated(const std::string& group) {
  char value[4];
  return getxattr(group.c_str(), "user.delegate", value, sizeof value) == 1 ||
         getxattr(group.c_str(), "trusted.delegate", value, sizeof value) == 1;
}

// Where sandboxes go in the tree of version 2 that is mounted at `top`.
std::string unified_base(const std::string& top) {
  std::string own = top + own_place(own_places(), "");
  // An earlier launcher has stepped down, and us with it: see open().
  if (own.ends_with(std::string("/") + kSupervisor)) own.resize(own.rfind('/'));
  // Somebody has said that it is ours; and root may use everything.
  if (is_delegated(own)) return own;
  if (geteuid() == 0) return top;
  // What we may write: our own group, or one above. Best is one where nobody has to step down.
  for (std::string group = own; group.size() > top.size(); group.resize(group.rfind('/'))) {
    if (!is_writable(group + "/cgroup.procs") || !is_writable(group)) break;
    const auto members = os::read_file(AT_FDCWD, group + "/cgroup.procs", 1 << 20);
    const auto given = os::read_file(AT_FDCWD, group + "/cgroup.subtree_control", 4096);
    if (names_memory_and_pids(given) || (members && members->empty())) return group;
  }
  return own;
}

// On v1 it is enough that one tree tells whether a sandbox lives: each group costs, those of memory
// most, and more the more of them there are.
bool has_agent(CgroupVersion version, const CgroupTree& tree) {
  return version == CgroupVersion::v2 || (tree.roles & kRolePids) != 0;
}

void unthrottle(int group, CgroupVersion version, int depth = 0) {
  const bool v1 = version == CgroupVersion::v1;
  static_cast<void>(os::write_value(group, v1 ? "cpu.cfs_quota_us" : "cpu.max", v1 ? "-1" : "max"));
  for (const auto& name : subgroups(group)) {
    auto below = open_directory(group, name);
    if (below && depth < kDeepest) unthrottle(below->get(), version, depth + 1);
  }
}

std::string decimal(uint64_t value) { return std::to_string(value); }

}  // namespace

CgroupSlice CgroupSlice::probe() {
  CgroupSlice slice;
  const auto mounts = mounted_trees();
  const auto v1_mount = [&](std::string_view controller) -> const Mounted* {
    for (const auto& mount : mounts) {
      if (!mount.v2 && std::ranges::find(mount.controllers, controller) != mount.controllers.end())
        return &mount;
    }
    return nullptr;
  };

  if (v1_mount("memory") != nullptr && v1_mount("pids") != nullptr) {
    const auto places = own_places();
    constexpr struct {
      const char* controller;
      uint8_t role;
    } kWanted[] = {{"memory", kRoleMemory},
                   {"pids", kRolePids},
                   {"cpu", kRoleCpu},
                   {"cpuacct", kRoleUsage},
                   {"freezer", kRoleFreezer}};
    for (const auto& wanted : kWanted) {
      const Mounted* mount = v1_mount(wanted.controller);
      if (mount == nullptr) continue;
      const std::string base = mount->path + own_place(places, wanted.controller);
      if (!is_writable(base)) continue;
      const std::string path = base + "/" + kSliceName;
      const auto same = std::ranges::find(slice.trees_, path, &CgroupTree::path);
      if (same != slice.trees_.end()) {
        same->roles |= wanted.role;
      } else {
        slice.trees_.push_back({wanted.role, path, Fd()});
      }
      slice.roles_ |= wanted.role;
    }
    if (const Mounted* cpuset = v1_mount("cpuset"))
      slice.cpuset_ = cpuset->path + own_place(places, "cpuset");
    slice.version_ = slice.trees_.empty() ? CgroupVersion::none : CgroupVersion::v1;
    if (slice.trees_.empty()) slice.reason_ = "the cgroup directories are not writable";
    return slice;
  }

  const auto unified = std::ranges::find_if(mounts, [](const Mounted& m) { return m.v2; });
  if (unified == mounts.end()) {
    slice.reason_ = "no cgroup file system is mounted";
    return slice;
  }
  const std::string base = unified_base(unified->path);
  const auto controllers = os::read_file(AT_FDCWD, base + "/cgroup.controllers", 4096);
  if (!is_writable(base) || !is_writable(base + "/cgroup.subtree_control")) {
    slice.reason_ = "the cgroup " + base + " is not delegated to this user";
    return slice;
  }
  if (!names_memory_and_pids(controllers)) {
    slice.reason_ = "the controllers memory and pids are not available in " + base;
    return slice;
  }
  slice.version_ = CgroupVersion::v2;
  slice.roles_ = kRoleMemory | kRolePids | kRoleUsage | kRoleFreezer;
  if (contains_word(*controllers, "cpu")) slice.roles_ |= kRoleCpu;
  if (contains_word(*controllers, "cpuset")) slice.cpuset_ = base;
  slice.trees_.push_back({slice.roles_, base + "/" + kSliceName, Fd()});
  return slice;
}

Result<> CgroupSlice::open() {
  std::string wanted = "+memory +pids";
  if ((roles_ & kRoleCpu) != 0) wanted += " +cpu";
  if (!cpuset_.empty()) wanted += " +cpuset";
  for (auto& tree : trees_) {
    const std::string base = tree.path.substr(0, tree.path.rfind('/'));
    if (version_ == CgroupVersion::v2) {
      TRY(auto top, os::open_at(AT_FDCWD, base, O_RDONLY | O_DIRECTORY));
      auto handed = os::write_value(top.get(), "cgroup.subtree_control", wanted);
      if (!handed && handed.error().os_errno() == EBUSY) {
        // Processes and controllers cannot share a group: we step down, as do those beside us.
        TRY(auto aside, make_group(top.get(), kSupervisor));
        const auto members = os::read_file(top.get(), "cgroup.procs", 1 << 20);
        for (const auto& pid : members ? split(*members, '\n') : std::vector<std::string>()) {
          if (!pid.empty()) static_cast<void>(os::write_value(aside.get(), "cgroup.procs", pid));
        }
        handed = os::write_value(top.get(), "cgroup.subtree_control", wanted);
      }
      if (!handed) return std::move(handed).error().with("handing controllers down from " + base);
    }
    TRY(tree.slice, make_group(AT_FDCWD, tree.path));
    if (version_ == CgroupVersion::v2) {
      TRY_OK(os::write_value(tree.slice.get(), "cgroup.subtree_control", wanted));
    }
  }
  return {};
}

void CgroupSlice::remove_if_empty() {
  for (auto& tree : trees_) {
    tree.slice.close();
    rmdir(tree.path.c_str());
  }
}

void CgroupSlice::remove_abandoned() {
  if (version_ == CgroupVersion::v1 && (roles_ & kRolePids) == 0)
    return;  // nothing tells who lives
  const time_t long_ago = time(nullptr) - kAbandonedSeconds;
  for (const auto& tree : trees_) {
    for (const auto& name : subgroups(tree.slice.get())) {
      struct stat info{};
      if (!is_sandbox_id(name) || fstatat(tree.slice.get(), name.c_str(), &info, 0) != 0 ||
          info.st_mtime > long_ago) {
        continue;
      }
      const bool is_alive = std::ranges::any_of(trees_, [&](const CgroupTree& any) {
        const auto group = open_directory(any.slice.get(), name);
        return group && has_members(*group);
      });
      if (!is_alive) static_cast<void>(remove_group(tree.slice.get(), name, Micros(0)));
    }
  }
}

Result<BoxCgroups> BoxCgroups::create(CgroupSlice& slice, const std::string& id, uid_t owner) {
  for (int attempt = 1;; ++attempt) {
    BoxCgroups box = find(slice, id);
    auto made = box.make(owner);
    if (made) return box;
    static_cast<void>(box.remove());
    if (made.error().os_errno() != ENOENT || attempt == kAttempts) return std::move(made).error();
    TRY_OK(slice.open());
  }
}

Result<> BoxCgroups::make(uid_t owner) {
  for (const auto& tree : slice_->trees()) {
    TRY(auto group, make_group(tree.slice.get(), id_));
    TRY(auto join, os::open_at(group.get(), join_file(version_), O_WRONLY));
    joins_.push_back(std::move(join));
    if (!has_agent(version_, tree)) {
      TRY(auto leave, os::open_at(tree.slice.get(), join_file(version_), O_WRONLY));
      leaves_.push_back(std::move(leave));
      work_.push_back({tree.roles, std::move(group)});
      continue;
    }
    if (version_ == CgroupVersion::v2) {
      TRY(auto agent, make_group(group.get(), kAgent));
      TRY(auto second, os::open_at(agent.get(), "cgroup.procs", O_WRONLY));
      joins_.push_back(std::move(second));
      TRY(hand_down_, os::open_at(group.get(), "cgroup.subtree_control", O_WRONLY));
      // Moving a process needs the right to write where source and destination meet.
      if (fchownat(group.get(), "cgroup.procs", owner, owner, 0) != 0) {
        return os_error("handing over the cgroup");
      }
    }
    TRY(auto work, make_group(group.get(), kWork));
    work_.push_back({tree.roles, std::move(work)});
  }
  return {};
}

BoxCgroups BoxCgroups::find(const CgroupSlice& slice, const std::string& id) {
  BoxCgroups box;
  box.slice_ = &slice;
  box.version_ = slice.version();
  box.id_ = id;
  return box;
}

bool BoxCgroups::holds(pid_t pid) const {
  const auto text = os::read_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cgroup", 64 << 10);
  return version_ == CgroupVersion::none || (text && text->find("/" + id_) != std::string::npos);
}

Result<> BoxCgroups::finish(uid_t owner, const CgroupLimits& limits) {
  joins_.clear();
  leaves_.clear();
  hand_down_.close();
  for (const auto& work : work_) {
    const int directory = work.directory.get();
    if (version_ == CgroupVersion::v2) {
      TRY_OK(
          os::write_value(directory, "cgroup.subtree_control",
                          (work.roles & kRoleCpu) != 0 ? "+memory +pids +cpu" : "+memory +pids"));
    }
    if (fchown(directory, owner, owner) != 0 ||
        fchownat(directory, join_file(version_), owner, owner, 0) != 0) {
      return os_error("handing over the cgroup");
    }
  }
  TRY_OK(set_limits(limits));
  // What making it took is nobody's peak.
  if (version_ == CgroupVersion::v1)
    TRY_OK(set(kRoleMemory, "memory.max_usage_in_bytes", "0", true));
  work_.clear();
  return {};
}

const CgroupTree* BoxCgroups::find_tree(uint8_t role) const {
  if (slice_ == nullptr) return nullptr;
  const auto& trees = slice_->trees();
  const auto found =
      std::ranges::find_if(trees, [&](const CgroupTree& tree) { return (tree.roles & role) != 0; });
  return found == trees.end() ? nullptr : &*found;
}

std::string BoxCgroups::work_in(const CgroupTree& tree) const {
  return has_agent(version_, tree) ? id_ + "/" + kWork : id_;
}

Result<Fd> BoxCgroups::open_work(const CgroupTree& tree) const {
  return os::open_at(tree.slice.get(), work_in(tree), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<> BoxCgroups::set(uint8_t role, const std::string& file, const std::string& value,
                         bool optional) {
  const CgroupTree* tree = find_tree(role);
  if (tree == nullptr && optional) return {};
  if (tree == nullptr)
    return Error(Code::unsupported, "no cgroup controller of this host has " + file);
  auto written = os::write_value(tree->slice.get(), work_in(*tree) + "/" + file, value);
  if (!written && optional && written.error().os_errno() == ENOENT) return {};
  return written;
}

Result<> BoxCgroups::set_limits(const CgroupLimits& limits) {
  constexpr uint64_t kPeriod = 100'000;
  const uint64_t quota = std::max<uint64_t>(limits.cpu_millis * kPeriod / 1000, 1000);
  if (limits.pids > 0) TRY_OK(set(kRolePids, "pids.max", decimal(limits.pids), false));
  if (version_ == CgroupVersion::v1) {
    if (limits.memory_bytes > 0) {
      // The sum of memory and swap cannot be below memory alone, at no moment.
      const std::string bytes = decimal(limits.memory_bytes);
      const auto lower = set(kRoleMemory, "memory.limit_in_bytes", bytes, false);
      TRY_OK(set(kRoleMemory, "memory.memsw.limit_in_bytes", bytes, true));
      if (!lower) TRY_OK(set(kRoleMemory, "memory.limit_in_bytes", bytes, false));
      TRY_OK(set(kRoleMemory, "memory.swappiness", "0", true));
    }
    if (limits.reserved_memory_bytes > 0) {
      TRY_OK(set(kRoleMemory, "memory.soft_limit_in_bytes", decimal(limits.reserved_memory_bytes),
                 true));
    }
    if (limits.cpu_millis > 0) {
      TRY_OK(set(kRoleCpu, "cpu.cfs_period_us", decimal(kPeriod), false));
      TRY_OK(set(kRoleCpu, "cpu.cfs_quota_us", decimal(quota), false));
    }
    if (limits.cpu_weight > 0) {
      const uint64_t shares = std::max<uint64_t>(limits.cpu_weight * 1024ULL / 100, 2);
      TRY_OK(set(kRoleCpu, "cpu.shares", decimal(shares), false));
    }
    return {};
  }
  if (limits.memory_bytes > 0) {
    TRY_OK(set(kRoleMemory, "memory.max", decimal(limits.memory_bytes), false));
    TRY_OK(set(kRoleMemory, "memory.swap.max", "0", true));
  }
  if (limits.reserved_memory_bytes > 0)
    TRY_OK(set(kRoleMemory, "memory.min", decimal(limits.reserved_memory_bytes), true));
  if (limits.cpu_millis > 0) {
    TRY_OK(set(kRoleCpu, "cpu.max", decimal(quota) + " " + decimal(kPeriod), false));
  }
  if (limits.cpu_weight > 0) TRY_OK(set(kRoleCpu, "cpu.weight", decimal(limits.cpu_weight), false));
  return {};
}

Result<> BoxCgroups::freeze(bool frozen) {
  const CgroupTree* tree = find_tree(kRoleFreezer);
  if (tree == nullptr) return Error(Code::unsupported, "this host has no cgroup freezer");
  TRY(const auto work, open_work(*tree));
  const int directory = work.get();
  const Micros give_up = system_clock().boot() + kPatience;
  const bool v1 = version_ == CgroupVersion::v1;
  const std::string wanted = v1 ? (frozen ? "FROZEN" : "THAWED") : (frozen ? "1" : "0");
  const std::string told = v1 ? wanted : (frozen ? "frozen 1" : "frozen 0");
  const std::string control = v1 ? "freezer.state" : "cgroup.freeze";
  TRY_OK(os::write_value(directory, control, wanted));
  for (;;) {
    TRY(const auto state, os::read_file(directory, v1 ? "freezer.state" : "cgroup.events", 4096));
    if (state.find(told) != std::string::npos) return {};
    if (system_clock().boot() > give_up) {
      static_cast<void>(os::write_value(directory, control, v1 ? "THAWED" : "0"));
      return Error(Code::deadline_exceeded, "some process does not stand still");
    }
    poll(nullptr, 0, 1);
    // Version 1 tells each process once, and one that was being born has not heard it.
    if (v1) TRY_OK(os::write_value(directory, control, wanted));
  }
}

bool BoxCgroups::lacked_memory() const {
  const CgroupTree* tree = find_tree(kRoleMemory);
  if (tree == nullptr) return false;
  const char* const file = version_ == CgroupVersion::v1 ? "/memory.oom_control" : "/memory.events";
  const auto told = os::read_file(tree->slice.get(), work_in(*tree) + file, 4096);
  return told && told->find("oom_kill ") != std::string::npos &&
         told->find("oom_kill 0") == std::string::npos;
}

void BoxCgroups::let_die() {
  if (version_ == CgroupVersion::v1)
    static_cast<void>(set(kRoleFreezer, "freezer.state", "THAWED", true));
  if (const CgroupTree* tree = find_tree(kRoleCpu)) {
    if (auto work = open_work(*tree)) unthrottle(work->get(), version_);
  }
}

bool BoxCgroups::remove_quickly(const CgroupTree& tree) const {
  const auto gone = [&](const std::string& group) {
    return unlinkat(tree.slice.get(), group.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  };
  // Most agents end with the group of one command.
  static_cast<void>(gone(work_in(tree) + "/" + kFirstCommand));
  return gone(work_in(tree)) && (version_ == CgroupVersion::v1 || gone(id_ + "/" + kAgent)) &&
         gone(id_);
}

Result<> BoxCgroups::remove() {
  if (id_.empty()) return {};
  joins_.clear();
  leaves_.clear();
  hand_down_.close();
  work_.clear();
  const Micros give_up = system_clock().boot() + kPatience;
  bool may_die = false;
  for (const auto& tree : slice_->trees()) {
    if (remove_quickly(tree)) continue;
    if (!std::exchange(may_die, true)) let_die();
    if (version_ == CgroupVersion::v2)
      static_cast<void>(os::write_value(tree.slice.get(), id_ + "/cgroup.kill", "1"));
    TRY_OK(remove_group(tree.slice.get(), id_, give_up));
  }
  id_.clear();
  return {};
}

}  // namespace atl::native
