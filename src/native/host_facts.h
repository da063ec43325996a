// What this host offers to sandboxes: found without root and without changing anything.
//
// Plain values, so that a test can make a host up; host_verdicts.h says what they are worth. What
// settings merely claim is tried where that is possible: namespaces, overlays and owner mapping are
// made in a child that ends at once, and with it they are gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "native/cgroup.h"
#include "native/namespace_trial.h"
#include "native/pool_support.h"

namespace atl::native {

// Whether owners can be mapped on a file system (an idmapped mount).
enum class OwnerMapping : uint8_t {
  works,     // tried
  refused,   // tried
  likely,    // by the kind of file system and the kernel; only root can try
  unlikely,  // the same
};

struct PlaceFacts {
  std::string path;
  std::string file_system;
  OwnerMapping owner_mapping = OwnerMapping::unlikely;
};

// A program or service of somebody else that a driver could use.
struct EngineFacts {
  std::string name;     // "docker"
  std::string program;  // "" = not installed
  std::string socket;   // "" = none
  bool may_use_socket = false;
};

struct CompanionFacts {
  std::string name;
  std::string path;
  bool is_there = false;
  std::string version;  // "" = it did not tell
};

enum class SelinuxMode : uint8_t { off, permissive, enforcing };

struct HostFacts {
  uid_t user = 0;
  std::string kernel;  // "6.1.0-18-amd64"
  std::string machine;
  std::string own_version;

  std::string container;  // "docker", "podman", …; "" = none that shows
  bool is_wsl = false;
  bool is_virtual = false;  // the processor says so

  CgroupVersion cgroups = CgroupVersion::none;
  uint8_t cgroup_roles = 0;
  std::string cgroup_reason;
  std::string cgroup_place;  // where sandboxes would go

  NamespaceTrial namespaces;
  std::optional<int64_t> max_user_namespaces;
  std::optional<int64_t> unprivileged_userns_clone;
  std::optional<int64_t> apparmor_restricts_userns;

  bool has_apparmor = false;
  std::string apparmor_profile;  // ours; "" = unknown
  bool has_launcher_profile = false;
  SelinuxMode selinux = SelinuxMode::off;
  std::string security_modules;  // "capability,landlock,apparmor"; "" = unknown

  int landlock_abi = 0;
  bool has_seccomp = false;
  bool has_overlay = false;

  std::vector<PlaceFacts> places;  // /, /tmp, the current directory
  PoolObstacle pool;

  uint64_t memory_bytes = 0;
  uint64_t available_memory_bytes = 0;
  uint64_t swap_bytes = 0;
  uint32_t processors = 1;

  std::optional<int64_t> pid_max;
  std::optional<int64_t> process_limit;   // of this user; none = unlimited
  std::optional<int64_t> cgroup_pid_max;  // of the group that we are in
  std::optional<int64_t> inotify_instances;
  std::optional<int64_t> inotify_watches;

  bool has_kvm = false;
  bool may_use_kvm = false;
  std::vector<EngineFacts> engines;

  bool clock_is_synchronised = false;
  bool has_entropy = false;

  std::string state_directory;
  uint64_t state_free_bytes = 0;
  uint64_t state_free_inodes = 0;  // 0 = it does not count them
  bool may_write_state = false;

  std::string libexec;
  std::vector<CompanionFacts> companions;
};

struct WhereToLook {
  std::string state_directory;
  std::string libexec;  // "" = not found
  std::string own_version;
};

// Takes some milliseconds: it starts the companions to ask for their versions.
HostFacts look_at_host(const WhereToLook& where);

}  // namespace atl::native
