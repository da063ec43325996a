#include "container/container_spec.h"

#include <algorithm>

#include "json/value.h"
#include "json/write.h"
#include "native/plan.h"

namespace atl::container {
namespace {

constexpr uint64_t kSharedMemoryBytes = 64ULL << 20;
constexpr uint64_t kBytesPerInode = 4096;
constexpr uint64_t kUsualShares = 1024;
constexpr int64_t kUsualWeight = 100;
// Where programs expect to write. The root itself is read-only.
constexpr std::string_view kWritable[] = {native::kWorkspace, "/tmp", native::kHome, "/run",
                                          "/var/tmp"};

std::string user() {
  const std::string id = std::to_string(native::kUserId);
  return id + ":" + id;
}

uint64_t shares_of(int64_t weight) {
  const auto shares = static_cast<uint64_t>(weight) * kUsualShares / kUsualWeight;
  return std::clamp<uint64_t>(shares, 2, 262'144);
}

std::string tmpfs_options(const ContainerSpec& spec, const Dialect& dialect) {
  std::string options = "rw,exec,nosuid,nodev,size=" + std::to_string(spec.disk_bytes);
  // It is the user's there, too, but the number of files cannot be limited.
  if (!dialect.owns_tmpfs) return options + ",U";
  const std::string id = std::to_string(native::kUserId);
  return options + ",nr_inodes=" + std::to_string(spec.disk_bytes / kBytesPerInode) +
         ",mode=0755,uid=" + id + ",gid=" + id;
}

json::Object bind(const std::string& source, std::string_view target) {
  return {{"Type", "bind"},
          {"Source", source},
          {"Target", target},
          {"ReadOnly", true},
          {"BindOptions", json::Object{{"Propagation", "rprivate"}}}};
}

std::string text_of(const json::Object& object) {
  std::string text;
  json::write_value(text, object);
  return text;
}

}  // namespace

std::string container_name(std::string_view sandbox_id) {
  return "atoll-" + std::string(sandbox_id);
}

Result<ContainerSpec> make_container_spec(const SandboxSpec& spec) {
  if (spec.root || spec.workspace || !spec.mounts.empty()) {
    // An engine takes paths and opens them with its own rights, which are not the caller's.
    return Error(Code::unsupported, "a container engine cannot be given a directory of the host")
        .with_hint("copy files in with atoll cp, or take --driver native");
  }
  const Resources& asked = spec.resources;
  if (asked.sharing == Sharing::dedicated) {
    return Error(Code::unsupported, "a container engine does not give processors to one alone")
        .with_hint("take --driver native");
  }
  ContainerSpec made;
  made.sandbox_id = spec.id;
  const auto mib = [](const std::optional<int64_t>& value, uint64_t usual) {
    return value ? static_cast<uint64_t>(*value) << 20 : usual;
  };
  made.memory_bytes = mib(asked.memory_mb, native::kDefaultMemory);
  if (made.memory_bytes < native::kSmallestMemory)
    return Error(Code::invalid_argument, "a sandbox needs at least 8 MiB of memory");
  made.disk_bytes = mib(asked.disk_mb, native::kDefaultDisk);
  if (asked.pids) made.pids = static_cast<uint64_t>(*asked.pids);
  if (asked.cpu) made.nano_cpus = static_cast<uint64_t>(*asked.cpu * 1e9);
  if (asked.cpu_weight) made.cpu_shares = shares_of(*asked.cpu_weight);
  return made;
}

std::string to_json(const ContainerSpec& spec, const Dialect& dialect) {
  json::Object tmpfs;
  for (const auto& path : kWritable) tmpfs[path] = tmpfs_options(spec, dialect);
  for (const auto& path : spec.volumes) tmpfs[path] = tmpfs_options(spec, dialect);
  json::Object host{
      {"NetworkMode", "none"},
      {"CapDrop", json::Array{"ALL"}},
      // Seccomp is the engine's default filter, and the agent adds ours to it.
      {"SecurityOpt", json::Array{"no-new-privileges"}},
      {"Privileged", false},
      {"ReadonlyRootfs", true},
      {"IpcMode", "private"},
      // On version 1 the default shows the host's groups.
      {"CgroupnsMode", "private"},
      {"PidsLimit", spec.pids},
      {"Memory", spec.memory_bytes},
      // Memory and swap together: no swap beyond it.
      {"MemorySwap", spec.memory_bytes},
      {"ShmSize", std::min(kSharedMemoryBytes, spec.disk_bytes)},
      // Nobody reads it, and a log would fill the host's disk.
      {"LogConfig", json::Object{{"Type", "none"}}},
      // Nothing is left of a sandbox that has ended while nobody was there.
      {"AutoRemove", true},
      {"Init", false},
      {"Tmpfs", std::move(tmpfs)},
      {"Mounts", json::Array{bind(spec.agent, kAgentInside), bind(spec.door, kDoorInside)}},
  };
  if (spec.nano_cpus > 0) host["NanoCpus"] = spec.nano_cpus;
  if (spec.cpu_shares > 0) host["CpuShares"] = spec.cpu_shares;
  return text_of({
      {"Image", spec.image},
      {"User", user()},
      {"WorkingDir", "/"},
      {"Hostname", spec.sandbox_id},
      {"Entrypoint", json::Array{kAgentInside}},
      {"Cmd", json::Array{"call", std::string(kDoorInside) + "/agent.sock"}},
      {"Healthcheck", json::Object{{"Test", json::Array{"NONE"}}}},
      {"Labels", json::Object{{kLabelInstance, spec.instance},
                              {kLabelDriver, dialect.name},
                              {kLabelSandbox, spec.sandbox_id},
                              {kLabelGeneration, kGeneration}}},
      {"HostConfig", std::move(host)},
  });
}

std::string to_update_json(const Resources& resources) {
  json::Object changed;
  if (resources.memory_mb) {
    changed["Memory"] = static_cast<uint64_t>(*resources.memory_mb) << 20;
    changed["MemorySwap"] = changed["Memory"];
  }
  if (resources.pids) changed["PidsLimit"] = *resources.pids;
  if (resources.cpu) changed["NanoCpus"] = static_cast<uint64_t>(*resources.cpu * 1e9);
  if (resources.cpu_weight) changed["CpuShares"] = shares_of(*resources.cpu_weight);
  return text_of(changed);
}

std::string describe(const ContainerSpec& spec) {
  const auto mib = [](uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  std::string text = "container     " + container_name(spec.sandbox_id) + "\n";
  text += "image         " + spec.image + ", read-only\n";
  text += "user          " + user() + ", no capabilities, no new privileges\n";
  text += "network       none, but for its own loopback\n";
  text += "memory        " + mib(spec.memory_bytes) + ", no swap beyond it\n";
  text += "processes     " + std::to_string(spec.pids) + "\n";
  text += "processors    " +
          (spec.nano_cpus == 0 ? "as many as there are"
                               : std::to_string(spec.nano_cpus / 1'000'000) + " thousandths") +
          "\n";
  text += "writable      ";
  for (const auto& path : kWritable) text += std::string(path) + " ";
  for (const auto& path : spec.volumes) text += path + " ";
  text += "in memory, each at most " + mib(spec.disk_bytes) + "\n";
  return text;
}

}  // namespace atl::container
