// A control group for each command: what it used, and a sure way to end all of it.
//
// Made below `work`, which the launcher has handed over; see native/cgroup.h. A group lives as long
// as anybody is in it: a command may leave children behind. While it lives it is looked at from
// time to time and slowed down if need be, see brake.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/brake.h"
#include "agent/proc_text.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "guest/protocol.h"
#include "native/cgroup.h"

namespace atl::agent {

// Processor time of which only the ratio is meant.
struct CpuRatio {
  uint64_t user = 0;
  uint64_t system = 0;
};

struct GroupUsage {
  uint64_t cpu_user_us = 0;
  uint64_t cpu_system_us = 0;
  uint64_t peak_memory_bytes = 0;
  uint64_t oom_kills = 0;
};

// Of the sandbox as a whole, for the files of /proc.
struct WorkUsage {
  uint64_t processes = 0;
  uint64_t cpu_us = 0;
  uint64_t cpu_user_part = 0, cpu_system_part = 0;  // their ratio divides cpu_us
  MemoryUse memory;                                 // the total is the limit, 0 = not told
};

class ExecGroup final {
 public:
  const std::string& name() const { return name_; }
  // Files for the child to write "0" into, all of them.
  const std::vector<int>& joins() const { return joins_; }
  // The directory where a child can be born instead; -1 = nowhere, on version 1.
  int birthplace() const;
  // Version 1 tells exactly only how much processor time was used: the ratio divides it.
  GroupUsage usage(CpuRatio ratio) const;
  uint64_t cpu_us() const;
  // To everybody in it. SIGKILL leaves nobody, however fast they fork.
  void signal(int number) const;

 private:
  friend class ExecGroups;
  struct Part {
    uint8_t roles = 0;
    Fd directory;
    Fd join;
  };
  const Part* find(uint8_t role) const;
  // Nobody is in it, and hardly anything left.
  bool is_as_new() const;
  // Counts from zero again, for the next command.
  void start_over();

  native::CgroupVersion version_{};
  std::string name_;
  std::vector<Part> parts_;  // of this command alone; the other trees know only `work`
  std::vector<int> joins_;
  mutable bool is_closed_ = false;   // nobody can be born in it any more
  mutable uint64_t seen_kills_ = 0;  // of what an earlier command left in the counter
  uint64_t earlier_kills_ = 0;
  uint64_t earlier_user_us_ = 0, earlier_system_us_ = 0;  // version 2 cannot be set back
  bool borrows_ = false;  // some parts are the sandbox's, which were counting before
  uint64_t earlier_us_ = 0, earlier_bytes_ = 0;
  mutable Fd cpu_file_, peak_file_, kills_file_;
};

class ExecGroups final {
 public:
  struct Work {
    uint8_t roles = 0;
    Fd directory;
  };
  ExecGroups(native::CgroupVersion version, std::vector<Work> work)
      : version_(version), work_(std::move(work)) {}

  bool available() const { return !work_.empty(); }
  // How many processes the sandbox may have; 0 = not told.
  uint64_t most_processes() const;
  // Whether a group tells how much processor time was used.
  bool count_cpu() const;
  // The only command of its sandbox is counted by the sandbox's own groups, where that is enough:
  // on version 1 each memory group costs more than a small command. It still has groups of its own
  // for its end and the brake. A command that comes all the same while it runs counts for it, too.
  enum class Kind : uint8_t { one_of_many, the_only_one };
  Result<ExecGroup> take(Kind kind = Kind::one_of_many);
  // Makes the group for the next command, off the path of any.
  void make_ahead();
  // Nobody is expected soon: a group is memory and descriptors.
  void drop_ahead();
  // One that nobody is in serves the next command, where its counters can be set back: to make a
  // group and to remove it costs the kernel more than a small command does.
  void give_back(ExecGroup group);
  // One that goes with its sandbox, probably before anybody looks at it.
  void leave(ExecGroup group);
  // It is not looked after while nothing runs in it, and counts from zero when something does.
  void rest(const ExecGroup& group) { live_.erase(group.name_); }
  void wake(ExecGroup& group);
  // Removes what was given back and is empty, unless nothing was since the last time.
  void tidy();
  // When the groups should be looked at again; zero = never.
  Micros next_look() const { return live_.empty() || !can_brake() ? Micros(0) : next_look_; }
  void look(Micros now);
  // Lets all of them go, so that they can end.
  void release_brakes();
  // Of everything below `work`.
  guest::Stats stats() const;
  WorkUsage work_usage() const;

 private:
  Result<ExecGroup> make(Kind kind = Kind::one_of_many);
  void look_after(const ExecGroup& group);
  Result<> open_shared();
  bool has_own(const Work& work, Kind kind = Kind::one_of_many) const;
  bool can_brake() const;
  const Work* find(uint8_t role) const;
  Brake::Sight sight_of(const std::string& group, Micros now, bool is_full) const;
  void set_brake(const std::string& name, bool on) const;
  bool remove(const std::string& name);

  native::CgroupVersion version_;
  std::vector<Work> work_;
  mutable Fd most_file_;
  std::vector<Fd> shared_;  // how `work` itself is joined where commands have no group of their own
  uint64_t made_ = 0;
  std::optional<ExecGroup> next_;
  struct Live {
    Brake brake;
    bool given_back = false;
    bool borrows = false;
  };
  std::map<std::string, Live> live_;  // that somebody is in, or was
  bool untidy_ = false;
  Micros look_pace_{0}, next_look_{0};
};

}  // namespace atl::agent
