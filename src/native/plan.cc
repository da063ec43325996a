#include "native/plan.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>

#include "base/own_home.h"
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

// What runsc needs to put its own processes into namespaces. They count in the sandbox's user
// namespace alone; the namespaces around it belong to the host's.
constexpr uint64_t kRuntimeCapabilities = kAgentCapabilities | kRootCapabilities |
                                          bit(CAP_SYS_ADMIN) | bit(CAP_SYS_CHROOT) |
                                          bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH);

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

std::vector<PlannedLimit> limits_of(const BoxRequest& request, Authority authority,
                                    const CgroupLimits& cgroup) {
  const uint64_t files = request.open_files > 0 ? request.open_files : kDefaultOpenFiles;
  std::vector<PlannedLimit> limits{
      {RLIMIT_CORE, 0},   {RLIMIT_NOFILE, files},    {RLIMIT_MEMLOCK, 8ULL << 20}, {RLIMIT_NICE, 0},
      {RLIMIT_RTPRIO, 0}, {RLIMIT_SIGPENDING, 4096}, {RLIMIT_MSGQUEUE, 819'200},
  };
  // What no cgroup bounds. With one these would only be in the way: of `reason: oom`, of a resize.
  if (authority == Authority::rootless && cgroup.pids == 0) {
    // The kernel counts processes per user namespace, so this bounds the sandbox and nobody else.
    limits.push_back({RLIMIT_NPROC, request.pids > 0 ? request.pids : kDefaultPids});
  }
  if (authority == Authority::rootless && cgroup.memory_bytes == 0 && request.memory_bytes > 0) {
    limits.push_back({RLIMIT_DATA, request.memory_bytes});
  }
  return limits;
}

// The second kernel counts the address space of each process only; the groups bound the memory of
// all together with what it takes for itself.
Result<> plan_sentry(const BoxRequest& request, const HostView& host, Plan& plan) {
  if (plan.authority != Authority::root || host.runtime_program.empty() ||
      host.agent_program.empty()) {
    return Error(Code::unavailable, "runsc is not installed, or the launcher is not root")
        .with_hint("apt install runsc, and start atoll as root");
  }
  plan.sentry = true;
  plan.agent_capabilities = kRuntimeCapabilities;
  const uint64_t files = request.open_files > 0 ? request.open_files : kDefaultOpenFiles;
  plan.rlimits = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, files}};
  if (request.memory_bytes > 0) plan.rlimits.push_back({RLIMIT_AS, request.memory_bytes});
  if (plan.cgroup.memory_bytes > 0) plan.cgroup.memory_bytes += kSentryMemory;
  if (plan.cgroup.pids > 0) plan.cgroup.pids = kSentryProcesses;
  return {};
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
  if (host.memory_bytes > 0 && request.reserved_memory_bytes > host.memory_bytes) {
    return Error(Code::resource_exhausted, "the host does not have so much memory to keep");
  }
  if (request.memory_bytes > 0 && request.memory_bytes < kSmallestMemory) {
    return Error(Code::invalid_argument, "a sandbox needs at least 8 MiB of memory");
  }
  if (request.disk_bytes > 0 && request.disk_bytes < kSmallestDisk) {
    return Error(Code::invalid_argument, "a sandbox needs at least 1 MiB of disk");
  }
  // It becomes a line of a file that programs believe.
  if (!request.home.empty() && !is_own_home(request.home)) {
    return Error(Code::invalid_argument, "a home is /home and one plain name");
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
  plan.rlimits = limits_of(request, authority, plan.cgroup);
  plan.disk_bytes = request.disk_bytes > 0 ? request.disk_bytes : kDefaultDisk;
  // Files live in memory. Where no cgroup counts them as such, a limit on memory bounds them too.
  if (authority == Authority::rootless && plan.cgroup.memory_bytes == 0 &&
      request.memory_bytes > 0) {
    plan.disk_bytes = std::min(plan.disk_bytes, request.memory_bytes);
  }
  if (authority == Authority::root) plan.storage = request.storage;
  plan.inodes = std::max<uint64_t>(plan.disk_bytes / kBytesPerInode, 1024);
  plan.processors = host.processors;
  plan.dedicated_processors = request.dedicated_cpus;
  if (plan.cgroup.cpu_millis > 0) {
    plan.processors =
        std::clamp<uint32_t>((plan.cgroup.cpu_millis + 999) / 1000, 1, host.processors);
  }
  if (request.sentry) TRY_OK(plan_sentry(request, host, plan));
  TRY_OK(plan_root(request, host, plan));
  return plan;
}

}  // namespace atl::native
