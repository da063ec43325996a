#include "container/engine_capabilities.h"

namespace atl::container {

Capabilities engine_capabilities(const Dialect& dialect, const EngineTraits& engine) {
  Capabilities can;
  can.isolation = Isolation::container;
  // Whose machine it is nobody asks: somebody who may use its engine rules it.
  if (engine.is_remote) can.placement = Placement::own;
  if (!engine.is_remote) can.typical_start_ms = dialect.typical_start_ms;
  can.limits = {.cpu = Limit::enforced,
                .memory = Limit::enforced,
                .pids = Limit::enforced,
                .disk = Limit::enforced,
                .root_disk = engine.limits_roots ? Limit::enforced : Limit::none,
                .open_files = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced,
                .cpu_time = Limit::per_process};
  can.network = NetworkControl::deny;
  can.pause = Pause::memory;
  can.snapshot = can.fork = engine.keeps_snapshots;
  can.reset = true;
  can.resize = dialect.can_update;
  can.pty = true;
  can.watch = true;
  can.ports = true;
  can.own_root = true;
  can.homes = true;
  can.writable_root = true;
  can.images = true;
  can.host_dir_ro = can.host_dir_rw = engine.shows_directories && !engine.is_remote;
  can.host_dir_roots = !engine.is_remote;
  can.bridge = true;
  // Podman's is open to its owner alone, who the sandbox's user is not.
  can.engine_socket = !engine.is_remote && dialect.shows_socket;
  can.templates = engine.loads_trees;
  can.not_protected = {
      "sandboxes share the host's kernel: a bug in it is a way out",
      "whoever may use the engine's socket rules the host, and the daemon may",
      "the agent has the commands' user: what it tells of them is not attested",
      "a fork bomb, or a command that uses all memory, can keep the agent from answering",
      "files live in memory, or in the container's layer, and are gone with the sandbox",
      "paths of the host show in the sandbox's list of mounts",
      "its user 1000 is the host's unless the engine maps users: it can use up what is per user",
      "terminals come from the host's number of them",
      "device nodes that every container has (null, zero, tty, …) open in shown directories, too",
      "with a profile of network: bridge a sandbox reaches the host, its neighbours and beyond",
  };
  if (engine.is_remote) {
    can.not_protected.emplace_back(
        "the way to a sandbox leads through its engine: while that is dead, nobody is answered");
  }
  if (!engine.limits_roots) {
    can.not_protected.emplace_back(
        "the disk of a persistent sandbox is not limited: the engine's storage has not shown "
        "that it has quotas");
  }
  if (!dialect.owns_tmpfs) {
    can.not_protected.emplace_back(
        "the number of files in a sandbox has no limit, only their size: they use up the host's "
        "memory for inodes");
  }
  if (!dialect.hides_groups) {
    can.not_protected.emplace_back(
        "with control groups of version 1 the sandbox sees the names of the host's groups");
  }
  if (!engine.filters_calls.value_or(true)) {
    can.not_protected.emplace_back(
        "the engine tells of no seccomp filter that confines: Atoll's own holds for every command, "
        "and nothing does for what starts the agent, nor for the agent's relay");
  }
  return can;
}

void limit_by_own_kernel(Capabilities& can, const KernelVerdict& own) {
  const bool may_be_another = !own.outer_kernel.empty() || own.is_untried;
  if (may_be_another) can.host_dir_ro = can.host_dir_rw = can.host_dir_roots = false;
  if (own.isolation == Isolation::sentry) can.limits.pids = Limit::none;
}

}  // namespace atl::container
