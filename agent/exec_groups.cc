#include "agent/exec_groups.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "os/cgroup_members.h"
#include "os/file.h"

namespace atl::agent {
namespace {

using native::CgroupVersion;

constexpr int kKillRounds = 16;
constexpr uint64_t kNoLimit = 1ULL << 62;
// Files that a command has left in memory would count for the next one, too.
constexpr uint64_t kLittleMemory = 1 << 20;
// On v1 these trees have a group per command; the others know only `work`.
constexpr uint8_t kPerCommand =
    native::kRoleMemory | native::kRolePids | native::kRoleUsage | native::kRoleCpu;
// Of these, what only counts.
constexpr uint8_t kOnlyCounts = native::kRoleMemory | native::kRoleUsage;
// Looked at soon, and then less and less often while nobody does anything.
constexpr Micros kSoonestLook = Millis(50);
constexpr Micros kLatestLook = Millis(2'000);
// Of a command with the brake on: two thousandths of a processor.
constexpr const char* kBrakedQuota = "2000";
constexpr const char* kBrakedPeriod = "1000000";

// A file of the kernel's, which gives what there is with the first reading; "" if there is none.
std::string told_by(int directory, const std::string& file) {
  char text[16384];
  const auto fd = os::open_at(directory, file, O_RDONLY);
  const ssize_t got = fd ? read(fd->get(), text, sizeof text) : -1;
  return {text, got > 0 ? static_cast<size_t>(got) : 0};
}

// The same of one that is asked again and again: opened once.
std::string told_by(Fd& kept, int directory, const char* file) {
  char text[4096];
  if (!kept) kept = os::open_at(directory, file, O_RDONLY).value_or(Fd());
  const ssize_t got = kept ? pread(kept.get(), text, sizeof text, 0) : -1;
  return {text, got > 0 ? static_cast<size_t>(got) : 0};
}

uint64_t number_in(Fd& kept, int directory, const char* file) {
  return std::strtoull(told_by(kept, directory, file).c_str(), nullptr, 10);
}

uint64_t number_in(int directory, const std::string& file) {
  return std::strtoull(told_by(directory, file).c_str(), nullptr, 10);
}

// A file of lines such as "user_usec 123".
class Fields final {
 public:
  Fields(int directory, const std::string& file) : text_("\n" + told_by(directory, file)) {}
  Fields(Fd& kept, int directory, const char* file)
      : text_("\n" + told_by(kept, directory, file)) {}
  uint64_t operator[](std::string_view field) const {
    const auto key = "\n" + std::string(field) + " ";
    const auto at = text_.find(key);
    return at == std::string::npos ? 0
                                   : std::strtoull(text_.c_str() + at + key.size(), nullptr, 10);
  }

 private:
  std::string text_;
};

uint64_t field_in(int directory, const char* file, std::string_view field) {
  return Fields(directory, file)[field];
}

MemoryUse memory_use(int directory, bool v1) {
  MemoryUse use;
  use.used = number_in(directory, v1 ? "memory.usage_in_bytes" : "memory.current");
  // No limit is "max", which is no number, or one that nothing can reach.
  const uint64_t limit = number_in(directory, v1 ? "memory.limit_in_bytes" : "memory.max");
  use.total = limit < kNoLimit ? limit : 0;
  const Fields stat(directory, "memory.stat");
  // Version 1 tells of the group alone unless asked for its total.
  const auto of = [&](const char* name) { return stat[v1 ? "total_" + std::string(name) : name]; };
  use.active_anon = of("active_anon");
  use.inactive_anon = of("inactive_anon");
  use.active_file = of("active_file");
  use.inactive_file = of("inactive_file");
  use.cached = of(v1 ? "cache" : "file");
  use.shared = of("shmem");
  use.mapped = of(v1 ? "mapped_file" : "file_mapped");
  // Only version 2 counts what the kernel keeps for the group.
  use.slab_reclaimable = stat["slab_reclaimable"];
  use.slab_unreclaimable = stat["slab_unreclaimable"];
  use.kernel_stack = stat["kernel_stack"];
  use.page_tables = stat["pagetables"];
  return use;
}

bool write_text(int directory, const std::string& file, std::string_view text) {
  auto fd = os::open_at(directory, file, O_WRONLY);
  return fd && write(fd->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// `group` is relative to the directory, or "." for itself.
void limit_cpu(CgroupVersion version, int directory, const std::string& group, bool on) {
  if (version == CgroupVersion::v2) {
    write_text(directory, group + "/cpu.max",
               on ? std::string(kBrakedQuota) + " " + kBrakedPeriod : "max");
    return;
  }
  if (on) write_text(directory, group + "/cpu.cfs_period_us", kBrakedPeriod);
  write_text(directory, group + "/cpu.cfs_quota_us", on ? kBrakedQuota : "-1");
}

}  // namespace

const ExecGroup::Part* ExecGroup::find(uint8_t role) const {
  const auto found =
      std::ranges::find_if(parts_, [&](const Part& part) { return (part.roles & role) != 0; });
  return found == parts_.end() ? nullptr : &*found;
}

GroupUsage ExecGroup::usage(CpuRatio ratio) const {
  GroupUsage usage;
  const bool v1 = version_ == CgroupVersion::v1;
  if (const Part* cpu = find(native::kRoleUsage)) {
    const int directory = cpu->directory.get();
    if (v1) {
      // Its own division is by clock ticks, and a short command has none.
      SplitTime time;
      time.update(cpu_us(), ratio.user, ratio.system);
      usage.cpu_user_us = static_cast<uint64_t>(time.user().count());
      usage.cpu_system_us = static_cast<uint64_t>(time.system().count());
    } else {
      const Fields stat(directory, "cpu.stat");
      usage.cpu_user_us = stat["user_usec"] - std::min(stat["user_usec"], earlier_user_us_);
      usage.cpu_system_us = stat["system_usec"] - std::min(stat["system_usec"], earlier_system_us_);
    }
  }
  if (const Part* memory = find(native::kRoleMemory)) {
    const int directory = memory->directory.get();
    usage.peak_memory_bytes =
        number_in(peak_file_, directory, v1 ? "memory.max_usage_in_bytes" : "memory.peak");
    usage.peak_memory_bytes -= std::min(usage.peak_memory_bytes, earlier_bytes_);
    const char* const kills = v1 ? "memory.oom_control" : "memory.events";
    seen_kills_ = Fields(kills_file_, directory, kills)["oom_kill"];
    usage.oom_kills = seen_kills_ - std::min(seen_kills_, earlier_kills_);
  }
  return usage;
}

int ExecGroup::birthplace() const {
  return version_ == CgroupVersion::v2 && !parts_.empty() ? parts_[0].directory.get() : -1;
}

uint64_t ExecGroup::cpu_us() const {
  const Part* cpu = find(native::kRoleUsage);
  if (cpu == nullptr) return 0;
  if (version_ == CgroupVersion::v1) {
    const uint64_t used = number_in(cpu_file_, cpu->directory.get(), "cpuacct.usage") / 1000;
    return used - std::min(used, earlier_us_);
  }
  const uint64_t used = field_in(cpu->directory.get(), "cpu.stat", "usage_usec");
  return used - std::min(used, earlier_user_us_ + earlier_system_us_);
}

bool ExecGroup::is_as_new() const {
  const Part* pids = find(native::kRolePids);
  const Part* memory = find(native::kRoleMemory);
  return pids != nullptr && memory != nullptr && !is_closed_ && !borrows_ &&
         told_by(pids->directory.get(), "pids.current") == "0\n" &&
         number_in(memory->directory.get(), "memory.usage_in_bytes") <= kLittleMemory;
}

void ExecGroup::start_over() {
  earlier_kills_ = seen_kills_;
  if (version_ == CgroupVersion::v2) {
    if (const Part* cpu = find(native::kRoleUsage)) {
      const Fields stat(cpu->directory.get(), "cpu.stat");
      earlier_user_us_ = stat["user_usec"];
      earlier_system_us_ = stat["system_usec"];
    }
    return;
  }
  if (const Part* cpu = find(native::kRoleUsage))
    write_text(cpu->directory.get(), "cpuacct.usage", "0");
  if (const Part* memory = find(native::kRoleMemory))
    write_text(memory->directory.get(), "memory.max_usage_in_bytes", "0");
}

void ExecGroup::signal(int number) const {
  const Part* part = find(native::kRolePids);
  if (part == nullptr) return;
  const auto members = [part] { return os::cgroup_members(part->directory.get()); };
  if (number != SIGKILL) {
    os::signal_members(members, number);
    return;
  }
  // Who gets no processor cannot even die.
  if (const Part* cpu = find(native::kRoleCpu))
    limit_cpu(version_, cpu->directory.get(), ".", false);
  if (version_ == CgroupVersion::v2 && write_text(part->directory.get(), "cgroup.kill", "1"))
    return;
  // Nobody can fork any more, so everybody can be counted.
  write_text(part->directory.get(), "pids.max", "0");
  is_closed_ = true;
  std::vector<pid_t> seen;
  for (int round = 0; round < kKillRounds; ++round) {
    bool news = false;
    for (const pid_t pid : os::signal_members(members, SIGKILL)) {
      if (std::ranges::find(seen, pid) != seen.end()) continue;
      seen.push_back(pid);
      news = true;
    }
    if (!news) return;
  }
}

const ExecGroups::Work* ExecGroups::find(uint8_t role) const {
  const auto found =
      std::ranges::find_if(work_, [&](const Work& work) { return (work.roles & role) != 0; });
  return found == work_.end() ? nullptr : &*found;
}

uint64_t ExecGroups::most_processes() const {
  const Work* pids = find(native::kRolePids);
  return pids == nullptr ? 0 : number_in(most_file_, pids->directory.get(), "pids.max");
}

bool ExecGroups::count_cpu() const { return find(native::kRoleUsage) != nullptr; }

// It takes processes and time that can be counted, and time that can be bounded.
bool ExecGroups::can_brake() const {
  return find(native::kRolePids) != nullptr && count_cpu() && find(native::kRoleCpu) != nullptr;
}

bool ExecGroups::has_own(const Work& work, Kind kind) const {
  const uint8_t own = kind == Kind::the_only_one ? kPerCommand & ~kOnlyCounts : kPerCommand;
  return version_ == CgroupVersion::v2 || (work.roles & own) != 0;
}

Result<> ExecGroups::open_shared() {
  if (!shared_.empty()) return {};
  for (const auto& work : work_) {
    if (has_own(work)) continue;
    TRY(auto join, os::open_at(work.directory.get(), native::join_file(version_), O_WRONLY));
    shared_.push_back(std::move(join));
  }
  return {};
}

Result<ExecGroup> ExecGroups::take(Kind kind) {
  ExecGroup group;
  if (next_) {
    group = std::move(*next_);
    next_.reset();
  } else {
    TRY(group, make(made_ == 0 ? kind : Kind::one_of_many));
  }
  look_after(group);
  return group;
}

void ExecGroups::look_after(const ExecGroup& group) {
  const Micros soon = system_clock().boot() + kSoonestLook;
  if (live_.empty() || next_look_ > soon) next_look_ = soon;
  look_pace_ = kSoonestLook;
  live_.emplace(group.name_, Live{.brake = {}, .borrows = group.borrows_});
}

void ExecGroups::wake(ExecGroup& group) {
  group.start_over();
  look_after(group);
}

void ExecGroups::make_ahead() {
  if (next_ || !available()) return;
  if (auto group = make()) next_ = std::move(*group);
}

void ExecGroups::drop_ahead() {
  if (!next_) return;
  const std::string name = next_->name_;
  next_.reset();
  if (!remove(name)) live_[name].given_back = untidy_ = true;
}

Result<ExecGroup> ExecGroups::make(Kind kind) {
  TRY_OK(open_shared());
  ExecGroup group;
  group.version_ = version_;
  group.name_ = "exec-" + std::to_string(++made_);
  for (const auto& work : work_) {
    if (!has_own(work)) continue;
    const bool borrows = !has_own(work, kind);
    if (!borrows && mkdirat(work.directory.get(), group.name_.c_str(), 0755) != 0 &&
        errno != EEXIST) {
      auto error = os_error("making the command's cgroup");
      give_back(std::move(group));
      return error;
    }
    group.borrows_ |= borrows;
    auto directory = borrows ? work.directory.duplicate()
                             : os::open_at(work.directory.get(), group.name_.c_str(),
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    auto join = directory ? os::open_at(directory->get(), native::join_file(version_), O_WRONLY)
                          : Result<Fd>(directory.error());
    if (!join) {
      give_back(std::move(group));
      return std::move(join).error().with("the command's cgroup");
    }
    group.joins_.push_back(join->get());
    group.parts_.push_back({work.roles, std::move(*directory), std::move(*join)});
  }
  for (const auto& join : shared_) group.joins_.push_back(join.get());
  if (!group.borrows_) return group;
  group.earlier_us_ = group.cpu_us();
  if (const auto* memory = group.find(native::kRoleMemory))
    group.earlier_bytes_ = number_in(memory->directory.get(), "memory.usage_in_bytes");
  return group;
}

void ExecGroups::give_back(ExecGroup group) {
  const auto live = live_.find(group.name_);
  const bool was_braked = live != live_.end() && live->second.brake.is_on();
  if (version_ == CgroupVersion::v1 && !next_ && !was_braked && group.is_as_new()) {
    live_.erase(group.name_);
    group.start_over();
    next_ = std::move(group);
    return;
  }
  leave(std::move(group));
}

void ExecGroups::leave(ExecGroup group) {
  live_[group.name_].given_back = true;
  untidy_ = true;
}

void ExecGroups::tidy() {
  if (!std::exchange(untidy_, false)) return;
  std::erase_if(live_,
                [this](const auto& old) { return old.second.given_back && remove(old.first); });
}

void ExecGroups::look(Micros now) {
  if (live_.empty() || !can_brake() || now < next_look_) return;
  // Not quite all: a fork that is about to be refused counts for a moment, and keeps others out.
  const uint64_t most = most_processes();
  const uint64_t there = number_in(find(native::kRolePids)->directory.get(), "pids.current");
  const bool is_full = most > 0 && there * 8 >= most * 7;
  bool is_busy = false;
  for (auto& [name, live] : live_) {
    const bool was_on = live.brake.is_on();
    const bool on = live.brake.look(sight_of(live.borrows ? "." : name, now, is_full));
    if (on != was_on) set_brake(name, on);
    is_busy |= !on && live.brake.is_busy();
  }
  look_pace_ = is_busy ? kSoonestLook : std::min(look_pace_ * 2, kLatestLook);
  next_look_ = now + look_pace_;
}

Brake::Sight ExecGroups::sight_of(const std::string& group, Micros now, bool is_full) const {
  Brake::Sight sight{.at = now, .is_full = is_full};
  const bool v1 = version_ == CgroupVersion::v1;
  const int usage = find(native::kRoleUsage)->directory.get();
  if (v1) {
    sight.cpu_user_us = number_in(usage, group + "/cpuacct.usage_user") / 1000;
    sight.cpu_system_us = number_in(usage, group + "/cpuacct.usage_sys") / 1000;
  } else {
    const Fields stat(usage, group + "/cpu.stat");
    sight.cpu_user_us = stat["user_usec"];
    sight.cpu_system_us = stat["system_usec"];
  }
  if (const Work* memory = find(native::kRoleMemory)) {
    sight.kills = Fields(memory->directory.get(),
                         group + (v1 ? "/memory.oom_control" : "/memory.events"))["oom_kill"];
  }
  return sight;
}

void ExecGroups::set_brake(const std::string& name, bool on) const {
  limit_cpu(version_, find(native::kRoleCpu)->directory.get(), name, on);
}

void ExecGroups::release_brakes() {
  for (auto& [name, live] : live_) {
    if (live.brake.is_on()) set_brake(name, false);
    live.brake = Brake();
  }
}

bool ExecGroups::remove(const std::string& name) {
  bool gone = true;
  for (const auto& work : work_) {
    if (!has_own(work)) continue;
    if (unlinkat(work.directory.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      gone = false;
  }
  return gone;
}

guest::Stats ExecGroups::stats() const {
  guest::Stats stats;
  stats.braked = static_cast<uint64_t>(
      std::ranges::count_if(live_, [](const auto& live) { return live.second.brake.is_on(); }));
  const bool v1 = version_ == CgroupVersion::v1;
  for (const auto& work : work_) {
    const int directory = work.directory.get();
    if ((work.roles & native::kRolePids) != 0)
      stats.processes = number_in(directory, "pids.current");
    if ((work.roles & native::kRoleMemory) != 0) {
      stats.memory_bytes = number_in(directory, v1 ? "memory.usage_in_bytes" : "memory.current");
    }
    if ((work.roles & native::kRoleUsage) != 0) {
      stats.cpu_us = v1 ? number_in(directory, "cpuacct.usage") / 1000
                        : field_in(directory, "cpu.stat", "usage_usec");
    }
  }
  return stats;
}

WorkUsage ExecGroups::work_usage() const {
  WorkUsage usage;
  const bool v1 = version_ == CgroupVersion::v1;
  for (const auto& work : work_) {
    const int directory = work.directory.get();
    if ((work.roles & native::kRolePids) != 0)
      usage.processes = number_in(directory, "pids.current");
    if ((work.roles & native::kRoleMemory) != 0) usage.memory = memory_use(directory, v1);
    if ((work.roles & native::kRoleUsage) != 0) {
      if (v1) {
        usage.cpu_us = number_in(directory, "cpuacct.usage") / 1000;
        usage.cpu_user_part = number_in(directory, "cpuacct.usage_user");
        usage.cpu_system_part = number_in(directory, "cpuacct.usage_sys");
      } else {
        const Fields stat(directory, "cpu.stat");
        usage.cpu_us = stat["usage_usec"];
        usage.cpu_user_part = stat["user_usec"];
        usage.cpu_system_part = stat["system_usec"];
      }
    }
  }
  return usage;
}

}  // namespace atl::agent
