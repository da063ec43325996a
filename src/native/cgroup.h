// Control groups: what a sandbox may use, on both versions of the kernel's interface.
//
//   <slice>/<id>/agent         v2; on v1 the agent sits in <id> itself
//   <slice>/<id>/work          limits and freezer
//   <slice>/<id>/work/exec-N   one per command, made by the agent: usage, and a sure end
//
// So a pause, an OOM or a fork bomb never touches the agent. On v1 that is the tree of pids; in the
// others <id> is `work` itself, and the agent is in the slice.
//
// The launcher owns <id>, <id>/work and every limit in them. The agent is given `work` open and
// owns only the directory, so that it can make groups below but not change what bounds them.
//
// Version 1 has a tree per controller; `work` is then several directories. Version 2 has one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace atl::native {

enum class CgroupVersion : uint8_t { none, v1, v2 };

// What one directory of `work` is good for; bits.
enum CgroupRole : uint8_t {
  kRoleMemory = 1,
  kRolePids = 2,
  kRoleCpu = 4,
  kRoleUsage = 8,  // processor time used
  kRoleFreezer = 16,
};
constexpr size_t kMostCgroupTrees = 5;

// The file of a group into which a process of one thread writes "0" to join it. `cgroup.procs` is
// for whole processes, which must not fork meanwhile; the kernel makes sure of that by waiting
// until every processor has passed a quiet point, for milliseconds on a machine that was idle.
// A single thread that moves itself need not wait, but only version 1 takes it.
constexpr const char* join_file(CgroupVersion version) {
  return version == CgroupVersion::v1 ? "tasks" : "cgroup.procs";
}

// Zero = no limit of its own.
struct CgroupLimits {
  uint64_t memory_bytes = 0;
  uint64_t reserved_memory_bytes = 0;  // kept for this sandbox under pressure
  uint32_t cpu_millis = 0;             // thousandths of a processor
  uint32_t cpu_weight = 0;             // 1…10000, 100 is usual
  uint64_t pids = 0;
};

// One mounted tree that we use, with the directory in it under which sandboxes live.
struct CgroupTree {
  uint8_t roles = 0;
  std::string path;  // of the slice
  Fd slice;
};

// Where Atoll's sandboxes are in the trees of this host.
class CgroupSlice final {
 public:
  // Finds the trees without changing anything; version none when there is nothing that we may use,
  // and `reason` says why.
  static CgroupSlice probe();
  // What another process has found: enough for a plan, and nothing that could be opened.
  static CgroupSlice as_told(CgroupVersion version, uint8_t roles);
  // Makes the slice's directories and, on v2, hands the controllers down to it.
  Result<> open();
  // Removes them again if no sandbox is left.
  void remove_if_empty();
  // Removes the groups of sandboxes that nobody is left to remove: no process in them, and none has
  // come or gone for a while. Their launcher was killed with everybody who could take its place.
  void remove_abandoned();

  CgroupVersion version() const { return version_; }
  uint8_t roles() const { return roles_; }
  const std::string& reason() const { return reason_; }
  const std::vector<CgroupTree>& trees() const { return trees_; }
  const std::string& cpuset() const { return cpuset_; }

 private:
  CgroupVersion version_ = CgroupVersion::none;
  uint8_t roles_ = 0;
  std::string reason_;
  std::vector<CgroupTree> trees_;
  std::string cpuset_;  // where the cpuset controller is, if anywhere
};

// The groups of one sandbox. The slice outlives it.
class BoxCgroups final {
 public:
  BoxCgroups() = default;
  // `owner` is the sandbox's root outside: whom `work` is handed to.
  // Another launcher may remove an empty slice at any moment; it is made again then.
  static Result<BoxCgroups> create(CgroupSlice& slice, const std::string& id, uid_t owner);
  // Takes up what an earlier launcher has made.
  static BoxCgroups find(const CgroupSlice& slice, const std::string& id);

  explicit operator bool() const { return !id_.empty(); }
  CgroupVersion version() const { return version_; }

  // Whether a process is in one of them; where there are none, nothing speaks against it.
  bool holds(pid_t pid) const;

  // Only while the sandbox is being made: thousands of them would be many descriptors to carry.
  // Files for the child to write "0" into, in this order; on v2 it makes its cgroup namespace
  // between the first and the second, and then hands the controllers down.
  const std::vector<Fd>& joins() const { return joins_; }
  // And on v1, once it has its cgroup namespace, into these.
  const std::vector<Fd>& leaves() const { return leaves_; }
  const Fd& hand_down() const { return hand_down_; }
  struct Work {
    uint8_t roles = 0;
    Fd directory;
  };
  const std::vector<Work>& work() const { return work_; }
  // Once the agent lives: hands `work` over to it, and bounds it.
  Result<> finish(uid_t owner, const CgroupLimits& limits);

  Result<> set_limits(const CgroupLimits& limits);
  // Returns when every process of `work` stands still, or runs again.
  Result<> freeze(bool frozen);
  // Whether the kernel has killed any of its processes for that.
  bool lacked_memory() const;
  // Who is frozen, or gets no processor, cannot even die: lifts both.
  void let_die();
  // Kills what is still in any of its groups and removes them. Idempotent.
  Result<> remove();

 private:
  Result<> make(uid_t owner);
  const CgroupTree* find_tree(uint8_t role) const;
  std::string work_in(const CgroupTree& tree) const;
  Result<Fd> open_work(const CgroupTree& tree) const;
  Result<> set(uint8_t role, const std::string& file, const std::string& value, bool optional);
  // If nobody is in them.
  bool remove_quickly(const CgroupTree& tree) const;

  const CgroupSlice* slice_ = nullptr;  // null: there are no groups
  CgroupVersion version_ = CgroupVersion::none;
  std::string id_;
  std::vector<Work> work_;
  std::vector<Fd> joins_, leaves_;
  Fd hand_down_;
};

}  // namespace atl::native
