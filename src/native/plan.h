// A plan says everything about a sandbox that is decided before it is cloned.
//
// It is a value: made from a request and a look at the host, without any privilege, printed by
// `atoll run --explain`, compared in tests, and then carried out step by step by child/. What is
// not in the plan does not happen; what is in it and cannot be done ends the start (fail closed).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "native/cgroup.h"
#include "native/host_view.h"
#include "native/landlock.h"
#include "native/layers.h"

namespace atl::native {

// Inside the sandbox, whatever the ids are outside.
constexpr uint32_t kUserId = 1000;
constexpr const char* kUserName = "user";
constexpr const char* kHome = "/home/user";
constexpr const char* kWorkspace = "/workspace";
constexpr const char* kSearchPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/atoll/bin";

enum class ShownAs : uint8_t { ro, rw, cow };

// Where a sandbox's own files live; storage_choice.h chooses.
enum class Storage : uint8_t {
  memory,  // a tmpfs of its own
  pool,    // a subvolume of its own, see launcher/storage_pool.h
};

// A directory of the host in the sandbox. Which directory it is tells a descriptor that travels
// beside the request.
struct BoxDirectory {
  std::string guest_path;
  ShownAs shown = ShownAs::ro;

  friend bool operator==(const BoxDirectory&, const BoxDirectory&) = default;
};

// What a driver asks the launcher for. Zero = the default below.
struct BoxRequest {
  uint64_t memory_bytes = 0;
  uint64_t reserved_memory_bytes = 0;
  uint32_t cpu_millis = 0;  // 0 = no ceiling
  uint32_t cpu_weight = 0;
  uint32_t dedicated_cpus = 0;
  uint64_t pids = 0;
  uint64_t disk_bytes = 0;
  Storage storage = Storage::memory;
  uint64_t open_files = 0;
  bool allow_ptrace = false;
  bool sentry = false;         // a second kernel between its commands and the host's, see oci/
  bool has_root = false;       // a root directory of the caller's instead of the host's system
  bool has_workspace = false;  // the first of `directories` is the workspace
  std::string home;            // instead of kHome; see base/own_home.h
  std::vector<BoxDirectory> directories;
  std::string warm;  // what its agent is to start ahead; nothing that the launcher need know

  friend bool operator==(const BoxRequest&, const BoxRequest&) = default;
};

constexpr uint64_t kSmallestMemory = 8ULL << 20;
constexpr uint64_t kDefaultMemory = 2ULL << 30;
constexpr uint64_t kDefaultDisk = 1ULL << 30;
constexpr uint64_t kDefaultPids = 1024;
constexpr uint64_t kDefaultOpenFiles = 4096;
// What a second kernel needs for itself, beyond what its commands may have, and how many processes
// of the host it may be.
constexpr uint64_t kSentryMemory = 256ULL << 20;
constexpr uint64_t kSentryProcesses = 8192;

// With whose rights the sandbox is made.
enum class Authority : uint8_t {
  root,      // a range of ids of its own, namespaces that belong to the host
  rootless,  // one id, namespaces that belong to the sandbox's own user namespace
};

enum class StepKind : uint8_t {
  directory,       // make it
  file,            // make it with `text`
  link,            // make a symlink to `text`
  device,          // a node `major`:`minor`; rootless: the host's own, bound
  tmpfs,           // mount with options `text`
  bind,            // mount `source` of the host
  tree,            // mount what `descriptor` holds
  overlay,         // mount with options `text`
  proc,            // mount
  pts,             // mount
  mqueue,          // mount
  mask,            // bind `source` over every name of `text` in the directory
  seal,            // add `attributes` to what is mounted there
  move_into_root,  // the new root becomes the root, the host's goes
};

// Paths are relative to the stage: a small tmpfs of the launcher's that nobody inside ever sees.
// The sandbox's root is its directory "root"; targets below that are resolved inside it, so that a
// link in a foreign root leads nowhere else.
struct Step {
  StepKind kind{};
  std::string target;
  std::string source;
  std::string text;
  uint32_t mode = 0755;
  int64_t owner = -1;       // inside; -1 = whoever makes it
  uint64_t attributes = 0;  // MOUNT_ATTR_*
  uint32_t major = 0, minor = 0;
  uint64_t inode = 0;     // of the source: a file that was replaced is another one
  int slot = -1;          // which of the request's descriptors, for `tree`
  bool optional = false;  // skipped if the host has no such file
  bool recursive = false;

  friend bool operator==(const Step&, const Step&) = default;
};

struct LandlockRule {
  std::string path;  // inside
  FileAccess access{};
};

// What a command changed in a copy of a directory is in `upper`, what was there before in `lower`.
struct CopyOnWrite {
  std::string guest_path;
  std::string upper, lower;  // on the stage
};

struct PlannedLimit {
  int resource = 0;
  uint64_t value = 0;
};

struct Plan {
  std::string id;
  std::string hostname;
  Authority authority = Authority::root;
  uint64_t namespaces = 0;    // CLONE_NEW*
  LayerSet without;           // empty but in the security suite
  bool sentry = false;        // the program around the commands is atoll-oci with runsc
  bool has_own_root = false;  // a caller's root rather than the host's system
  std::vector<Step> steps;
  // So many at the beginning are the same for every sandbox of this kind. They need be carried out
  // once for all of them: each gets a copy of the mounts, which none can write to.
  size_t shared_steps = 0;
  std::string told;  // on the stage: what the agent writes to be shown in /proc, if anything is
  std::vector<CopyOnWrite> copy_on_write;
  std::vector<PlannedLimit> rlimits;
  uint64_t agent_capabilities = 0;
  uint64_t root_capabilities = 0;  // of a command that runs as root inside
  std::vector<LandlockRule> landlock;
  CgroupLimits cgroup;
  CgroupVersion cgroup_version = CgroupVersion::none;
  uint32_t processors = 1;  // how many the sandbox is shown
  uint32_t dedicated_processors = 0;
  Storage storage = Storage::memory;
  uint64_t disk_bytes = 0;
  uint64_t inodes = 0;  // in memory; in the pool they count as bytes
  bool allow_ptrace = false;
};

Result<Plan> make_plan(const std::string& id, const BoxRequest& request, const HostView& host,
                       Authority authority, const CgroupSlice& cgroups, LayerSet without);

// For people: one decision per line, in the order in which they are carried out.
std::string describe(const Plan& plan);
std::string_view to_string(StepKind kind);

}  // namespace atl::native
