#include "native/plan.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>

#include "base/text.h"
#include "native/root_plan.h"

namespace atl::native {
namespace {

constexpr uint64_t bit(int capability) { return 1ULL << capability; }

// What it takes to start commands as others, to end them, and to own files for them.
constexpr uint64_t kAgentCapabilities = bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_SETPCAP) |
                                        bit(CAP_KILL) | bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) |
                                        bit(CAP_FOWNER) | bit(CAP_FSETID);
// Of root inside, where the root file system is the sandbox's own.
constexpr uint64_t kRootCapabilities =
    bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FSETID) | bit(CAP_FOWNER) | bit(CAP_SETGID) |
    bit(CAP_SETUID) | bit(CAP_SETFCAP) | bit(CAP_SETPCAP) | bit(CAP_NET_BIND_SERVICE) |
    bit(CAP_KILL) | bit(CAP_AUDIT_WRITE);

constexpr uint64_t kSmallestMemory = 8ULL << 20;
constexpr uint64_t kSmallestDisk = 1ULL << 20;
constexpr uint64_t kBytesPerInode = 4096;

uint64_t all_namespaces(LayerSet without) {
  uint64_t flags = 0;
  const auto add = [&](Layer layer, uint64_t flag) {
    if (!without.has(layer)) flags |= flag;
  };
  add(Layer::mount_namespace, CLONE_NEWNS);
  add(Layer::pid_namespace, CLONE_NEWPID);
  add(Layer::ipc_namespace, CLONE_NEWIPC);
  add(Layer::uts_namespace, CLONE_NEWUTS);
  add(Layer::cgroup_namespace, CLONE_NEWCGROUP);
  add(Layer::network_namespace, CLONE_NEWNET);
  add(Layer::user_namespace, CLONE_NEWUSER);
  return flags;
}

std::vector<PlannedLimit> limits_of(const BoxRequest& request, Authority authority) {
  const uint64_t files = request.open_files > 0 ? request.open_files : kDefaultOpenFiles;
  std::vector<PlannedLimit> limits{
      {RLIMIT_CORE, 0},   {RLIMIT_NOFILE, files},    {RLIMIT_MEMLOCK, 8ULL << 20}, {RLIMIT_NICE, 0},
      {RLIMIT_RTPRIO, 0}, {RLIMIT_SIGPENDING, 4096}, {RLIMIT_MSGQUEUE, 819'200},
  };
  if (authority == Authority::rootless) {
    // The kernel counts processes per user namespace, so this bounds the sandbox and nobody else.
    limits.push_back({RLIMIT_NPROC, request.pids > 0 ? request.pids : kDefaultPids});
    if (request.memory_bytes > 0) limits.push_back({RLIMIT_DATA, request.memory_bytes});
  }
  return limits;
}

std::string size_text(uint64_t bytes) {
  if (bytes % (1ULL << 30) == 0) return std::to_string(bytes >> 30) + " GiB";
  if (bytes % (1ULL << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes) + " bytes";
}

std::string attribute_text(uint64_t attributes) {
  std::string text;
  const auto name = [&](uint64_t flag, const char* word) {
    if ((attributes & flag) != 0) text += std::string(text.empty() ? "" : ",") + word;
  };
  name(MOUNT_ATTR_RDONLY, "ro");
  name(MOUNT_ATTR_NOSUID, "nosuid");
  name(MOUNT_ATTR_NODEV, "nodev");
  name(MOUNT_ATTR_NOEXEC, "noexec");
  return text;
}

std::string capability_text(uint64_t set) {
  static constexpr const char* kNames[] = {
      "chown",  "dac_override", "dac_read_search", "fowner",          "fsetid",          "kill",
      "setgid", "setuid",       "setpcap",         "linux_immutable", "net_bind_service"};
  std::string text;
  for (int i = 0; i < 41; ++i) {
    if ((set >> i & 1) == 0) continue;
    const bool named = i < static_cast<int>(std::size(kNames));
    text +=
        (text.empty() ? "" : " ") + (named ? std::string(kNames[i]) : "cap" + std::to_string(i));
  }
  return text.empty() ? "none" : text;
}

std::string_view access_text(FileAccess access) {
  switch (access) {
    case FileAccess::read_execute:
      return "read and execute";
    case FileAccess::read_only:
      return "read";
    case FileAccess::read_write:
      return "read, write and execute";
    case FileAccess::device:
      return "read and write what exists";
  }
  return "";
}

}  // namespace

Result<Plan> make_plan(const std::string& id, const BoxRequest& request, const HostView& host,
                       Authority authority, const CgroupSlice& cgroups, LayerSet without) {
  Plan plan;
  plan.id = id;
  plan.hostname = "sandbox";
  plan.authority = authority;
  plan.without = without;
  plan.namespaces = all_namespaces(without);
  plan.has_own_root = request.has_root;
  plan.allow_ptrace = request.allow_ptrace;
  plan.agent_capabilities = kAgentCapabilities;
  if (request.has_root && authority == Authority::root) {
    plan.root_capabilities = kRootCapabilities;
    plan.agent_capabilities |= kRootCapabilities;
  }
  plan.rlimits = limits_of(request, authority);

  if (request.memory_bytes > 0 && request.memory_bytes < kSmallestMemory) {
    return Error(Code::invalid_argument, "a sandbox needs at least 8 MiB of memory");
  }
  if (request.disk_bytes > 0 && request.disk_bytes < kSmallestDisk) {
    return Error(Code::invalid_argument, "a sandbox needs at least 1 MiB of disk");
  }
  if (!without.has(Layer::cgroups)) {
    plan.cgroup_version = cgroups.version();
    const uint8_t roles = cgroups.roles();
    const uint64_t most = host.memory_bytes > 0 ? host.memory_bytes / 4 * 3 : kDefaultMemory;
    if ((roles & kRoleMemory) != 0) {
      plan.cgroup.memory_bytes =
          request.memory_bytes > 0 ? request.memory_bytes : std::min(kDefaultMemory, most);
      plan.cgroup.reserved_memory_bytes = request.reserved_memory_bytes;
    }
    if ((roles & kRolePids) != 0) {
      plan.cgroup.pids = request.pids > 0 ? request.pids : kDefaultPids;
    }
    if ((roles & kRoleCpu) != 0) {
      plan.cgroup.cpu_millis = request.cpu_millis;
      plan.cgroup.cpu_weight = request.cpu_weight;
    }
  }
  plan.disk_bytes = request.disk_bytes > 0 ? request.disk_bytes : kDefaultDisk;
  plan.inodes = std::max<uint64_t>(plan.disk_bytes / kBytesPerInode, 1024);
  plan.processors = host.processors;
  if (plan.cgroup.cpu_millis > 0) {
    plan.processors =
        std::clamp<uint32_t>((plan.cgroup.cpu_millis + 999) / 1000, 1, host.processors);
  }
  TRY_OK(plan_root(request, host, plan));
  return plan;
}

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::directory:
      return "directory";
    case StepKind::file:
      return "file";
    case StepKind::link:
      return "link";
    case StepKind::device:
      return "device";
    case StepKind::tmpfs:
      return "tmpfs";
    case StepKind::bind:
      return "bind";
    case StepKind::tree:
      return "mount";
    case StepKind::overlay:
      return "overlay";
    case StepKind::proc:
      return "proc";
    case StepKind::pts:
      return "devpts";
    case StepKind::mqueue:
      return "mqueue";
    case StepKind::seal:
      return "seal";
    case StepKind::move_into_root:
      return "enter";
  }
  return "step";
}

std::string describe(const Plan& plan) {
  std::string text;
  const auto line = [&](std::string_view what, const std::string& how) {
    text +=
        std::string(what) + std::string(what.size() < 14 ? 14 - what.size() : 1, ' ') + how + "\n";
  };
  line("sandbox", plan.id + ", hostname " + plan.hostname);
  line("made", plan.authority == Authority::root
                   ? "with a range of 65,536 ids of its own; namespaces belong to the host"
                   : "without root: one id, namespaces belong to the sandbox's own user namespace");
  constexpr struct {
    uint64_t flag;
    const char* name;
  } kNamespaces[] = {{CLONE_NEWUSER, "user"},
                     {CLONE_NEWNS, "mount"},
                     {CLONE_NEWPID, "pid"},
                     {CLONE_NEWIPC, "ipc"},
                     {CLONE_NEWUTS, "uts"},
                     {CLONE_NEWCGROUP, "cgroup"},
                     {CLONE_NEWNET, "network (lo only)"}};
  std::string names;
  for (const auto& space : kNamespaces) {
    if ((plan.namespaces & space.flag) != 0)
      names += (names.empty() ? "" : ", ") + std::string(space.name);
  }
  line("namespaces", names);
  if (plan.cgroup_version == CgroupVersion::none) {
    line("cgroups", "none on this host: memory, processor and processes are not bounded together");
  } else {
    line("cgroups", plan.cgroup_version == CgroupVersion::v1 ? "version 1" : "version 2");
    line("  memory", plan.cgroup.memory_bytes > 0
                         ? size_text(plan.cgroup.memory_bytes) + ", no swap"
                         : "not bounded");
    line("  processor", plan.cgroup.cpu_millis > 0
                            ? std::to_string(plan.cgroup.cpu_millis) + "/1000 of one"
                            : "no ceiling; shared by weight");
    line("  processes", plan.cgroup.pids > 0 ? std::to_string(plan.cgroup.pids) : "not bounded");
  }
  line("disk",
       size_text(plan.disk_bytes) + " and " + std::to_string(plan.inodes) + " files, in memory");
  for (const auto& step : plan.steps) {
    if (step.kind == StepKind::directory || step.kind == StepKind::link) continue;
    std::string how = step.target;
    if (how.starts_with("root/")) how = how.substr(4);
    if (step.kind == StepKind::move_into_root) how = "the new root; the host's is detached";
    if (!step.source.empty() && step.kind != StepKind::device) how += " from " + step.source;
    if (step.kind == StepKind::tree)
      how += " (directory " + std::to_string(step.slot) + " of the request)";
    if (step.kind == StepKind::tmpfs || step.kind == StepKind::pts) how += " (" + step.text + ")";
    if (step.attributes != 0) how += " [" + attribute_text(step.attributes) + "]";
    line(to_string(step.kind), how);
  }
  line("agent", "capabilities " + capability_text(plan.agent_capabilities));
  line("commands", "user 1000, capabilities none, no_new_privs");
  line("root inside", "capabilities " + capability_text(plan.root_capabilities));
  line("seccomp", plan.allow_ptrace ? "allowlist, ptrace inside allowed" : "allowlist");
  for (const auto& rule : plan.landlock) {
    line("landlock", rule.path + ": " + std::string(access_text(rule.access)));
  }
  constexpr struct {
    int resource;
    const char* name;
  } kLimits[] = {{RLIMIT_CORE, "core dump"},          {RLIMIT_NOFILE, "open files"},
                 {RLIMIT_MEMLOCK, "locked memory"},   {RLIMIT_NPROC, "processes"},
                 {RLIMIT_DATA, "memory per process"}, {RLIMIT_MSGQUEUE, "message queues"}};
  for (const auto& limit : plan.rlimits) {
    for (const auto& known : kLimits) {
      if (known.resource == limit.resource)
        line("rlimit", std::string(known.name) + " " + std::to_string(limit.value));
    }
  }
  for (int i = 0; i < kLayers; ++i) {
    if (plan.without.has(static_cast<Layer>(i)))
      line("SWITCHED OFF", std::string(to_string(static_cast<Layer>(i))));
  }
  return text;
}

}  // namespace atl::native
