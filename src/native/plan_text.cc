#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>

#include <iterator>
#include <map>

#include "native/plan.h"
#include "native/seccomp.h"

namespace atl::native {
namespace {

std::string size_text(uint64_t bytes) {
  if (bytes % (1ULL << 30) == 0) return std::to_string(bytes >> 30) + " GiB";
  if (bytes % (1ULL << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes) + " bytes";
}

std::string processor_text(const Plan& plan) {
  if (plan.dedicated_processors > 0) {
    return std::to_string(plan.dedicated_processors) + " of its own, " +
           size_text(plan.cgroup.reserved_memory_bytes) + " of memory reserved";
  }
  const std::string ceiling = plan.cgroup.cpu_millis > 0
                                  ? std::to_string(plan.cgroup.cpu_millis) + "/1000 of one"
                                  : "no ceiling";
  const uint32_t weight = plan.cgroup.cpu_weight > 0 ? plan.cgroup.cpu_weight : 100;
  return ceiling + "; shared by weight, " + std::to_string(weight);
}

std::string disk_text(const Plan& plan) {
  const std::string size = size_text(plan.disk_bytes);
  return plan.storage == Storage::pool
             ? size + " in the storage pool, metadata included"
             : size + " and " + std::to_string(plan.inodes) + " files, in memory";
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
  static const std::map<int, const char*> kFurther = {{CAP_SYS_CHROOT, "sys_chroot"},
                                                      {CAP_SYS_PTRACE, "sys_ptrace"},
                                                      {CAP_SYS_ADMIN, "sys_admin"},
                                                      {CAP_AUDIT_WRITE, "audit_write"},
                                                      {CAP_SETFCAP, "setfcap"}};
  std::string text;
  for (int i = 0; i < 41; ++i) {
    if ((set >> i & 1) == 0) continue;
    const auto further = kFurther.find(i);
    text += text.empty() ? "" : " ";
    text += i < static_cast<int>(std::size(kNames)) ? std::string(kNames[i])
            : further != kFurther.end()             ? further->second
                                                    : "cap" + std::to_string(i);
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
    case StepKind::mask:
      return "mask";
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
    line("  processor", processor_text(plan));
    line("  processes", plan.cgroup.pids > 0 ? std::to_string(plan.cgroup.pids) : "not bounded");
  }
  line("disk", disk_text(plan));
  if (plan.shared_steps > 0)
    line("root", "made once for all sandboxes that need no more than this");
  for (const auto& step : plan.steps) {
    if (step.kind == StepKind::directory || step.kind == StepKind::link) continue;
    std::string how = step.target;
    if (how.starts_with("root/")) how = how.substr(4);
    if (step.kind == StepKind::move_into_root) how = "the new root; the host's is detached";
    if (!step.source.empty() && step.kind != StepKind::device) how += " from " + step.source;
    if (step.kind == StepKind::tree && step.target == "store") {
      how += " (a subvolume of the storage pool, its ids translated)";
    } else if (step.kind == StepKind::tree)
      how += " (directory " + std::to_string(step.slot) + " of the request)";
    if (step.kind == StepKind::mask) how += ": " + step.text;
    if (step.kind == StepKind::tmpfs || step.kind == StepKind::pts) how += " (" + step.text + ")";
    if (step.attributes != 0) how += " [" + attribute_text(step.attributes) + "]";
    line(to_string(step.kind), how);
  }
  if (plan.sentry) {
    line("second kernel", "gVisor's, by runsc with no network, and the groups above around it");
    line("runsc", "capabilities " + capability_text(plan.agent_capabilities) + ", no_new_privs");
  } else {
    line("agent", "capabilities " + capability_text(plan.agent_capabilities));
  }
  line("commands", "user 1000, capabilities none, no_new_privs");
  line("root inside", "capabilities " + capability_text(plan.root_capabilities));
  line("seccomp", describe_filter({.allow_ptrace = plan.allow_ptrace}));
  for (const auto& rule : plan.sentry ? std::vector<LandlockRule>() : plan.landlock) {
    line("landlock", rule.path + ": " + std::string(access_text(rule.access)));
  }
  constexpr struct {
    int resource;
    const char* name;
  } kLimits[] = {{RLIMIT_CORE, "core dump"},
                 {RLIMIT_NOFILE, "open files"},
                 {RLIMIT_MEMLOCK, "locked memory"},
                 {RLIMIT_NPROC, "processes"},
                 {RLIMIT_DATA, "memory per process"},
                 {RLIMIT_MSGQUEUE, "message queues"},
                 {RLIMIT_AS, "address space per process"}};
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
