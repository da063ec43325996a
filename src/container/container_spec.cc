#include "container/container_spec.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/tar.h"
#include "container/masked_paths.h"
#include "json/value.h"
#include "json/write.h"
#include "native/agent_places.h"
#include "native/plan.h"

namespace atl::container {
namespace {

constexpr uint64_t kSharedMemoryBytes = 64ULL << 20;
constexpr uint64_t kBytesPerInode = 4096;
constexpr uint64_t kUsualShares = 1024;
constexpr int64_t kUsualWeight = 100;
constexpr double kLeastCpu = 0.01;
constexpr uint64_t kNanoCpus = 1'000'000'000;
// Where programs expect to write. The first two are in the root if that is persistent.
constexpr std::string_view kWritable[] = {native::kWorkspace, native::kHome, "/tmp", "/run",
                                          "/var/tmp"};

std::span<const std::string_view> in_memory(const ContainerSpec& spec) {
  return std::span(kWritable).subspan(spec.is_persistent ? 2 : 0);
}

bool has_home_in_memory(const ContainerSpec& spec) {
  return !spec.home.empty() && !spec.is_persistent;
}

std::string user() {
  const std::string id = std::to_string(native::kUserId);
  return id + ":" + id;
}

uint64_t nano_cpus_of(double processors) {
  return static_cast<uint64_t>(processors * static_cast<double>(kNanoCpus));
}

uint64_t shares_of(int64_t weight) {
  const auto shares = static_cast<uint64_t>(weight) * kUsualShares / kUsualWeight;
  return std::clamp<uint64_t>(shares, 2, 262'144);
}

std::string tmpfs_options(const ContainerSpec& spec, const Dialect& dialect) {
  std::string options = "rw,exec,nosuid,nodev,size=" + std::to_string(spec.disk_bytes);
  // It is the user's there, too, but the number of files cannot be limited.
  if (!dialect.owns_tmpfs) return options + ",notmpcopyup,U";
  const std::string id = std::to_string(native::kUserId);
  return options + ",nr_inodes=" + std::to_string(spec.disk_bytes / kBytesPerInode) +
         ",mode=0755,uid=" + id + ",gid=" + id;
}

json::Object bound(const std::string& source, std::string_view target) {
  return {{"Type", "bind"},
          {"Source", source},
          {"Target", target},
          {"ReadOnly", true},
          {"BindOptions", json::Object{{"Propagation", "rprivate"}}}};
}

// On the engine's disk, gone with the container, and root's: its user cannot write to it.
json::Object filled_later(std::string_view target, const json::Object& labels) {
  return {{"Type", "volume"},
          {"Target", target},
          {"ReadOnly", false},
          {"VolumeOptions", json::Object{{"NoCopy", true}, {"Labels", labels}}}};
}

json::Object labels_of(const ContainerSpec& spec, const Dialect& dialect) {
  json::Object labels{{kLabelInstance, spec.instance},
                      {kLabelDriver, dialect.name},
                      {kLabelSandbox, spec.sandbox_id},
                      {kLabelGeneration, kGeneration}};
  if (spec.door.empty()) labels[kLabelTransport] = kByRelay;
  if (spec.is_sentry) labels[kLabelKernel] = kSentry;
  return labels;
}

// Other file systems that are mounted below stay outside: they would not be read-only.
json::Object bound(const HostShare& share) {
  auto mount = bound(share.source, share.target);
  mount["ReadOnly"] = !share.is_writable;
  mount["BindOptions"] = json::Object{{"Propagation", "rprivate"}, {"NonRecursive", true}};
  return mount;
}

// Beyond what the engine hides by itself: the kernel's symbols, and most of /sys.
void mask(json::Object& host, const Dialect& dialect) {
  json::Array paths;
  std::string option = "mask=";
  for (const auto& path : kMaskedPaths) {
    paths.emplace_back(path);
    option += std::string(path) + ":";
  }
  option.pop_back();
  if (dialect.takes_masks) {
    host["MaskedPaths"] = std::move(paths);
  } else {
    host["SecurityOpt"].as_array().emplace_back(std::move(option));
  }
}

std::string text_of(const json::Object& object) {
  std::string text;
  json::write_value(text, object);
  return text;
}

json::Object container_of(const ContainerSpec& spec, const Dialect& dialect) {
  json::Object labels = labels_of(spec, dialect);
  json::Object tmpfs;
  for (const auto& path : in_memory(spec)) tmpfs[path] = tmpfs_options(spec, dialect);
  for (const auto& path : spec.volumes) tmpfs[path] = tmpfs_options(spec, dialect);
  if (has_home_in_memory(spec)) tmpfs[spec.home] = tmpfs_options(spec, dialect);
  json::Array mounts{spec.agent.empty() ? filled_later(kOursInside, labels)
                                        : bound(spec.agent, kAgentInside)};
  if (!spec.door.empty()) mounts.emplace_back(bound(spec.door, kDoorInside));
  for (const auto& share : spec.shares) {
    tmpfs.erase(share.target);
    mounts.emplace_back(bound(share));
  }
  json::Object host{
      {"NetworkMode", spec.network == Network::bridge ? "bridge" : "none"},
      {"CapDrop", json::Array{"ALL"}},
      // Seccomp is the engine's default filter, and the agent adds ours to it.
      {"SecurityOpt", json::Array{"no-new-privileges"}},
      {"Privileged", false},
      {"ReadonlyRootfs", !spec.is_persistent},
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
      {"Mounts", std::move(mounts)},
  };
  mask(host, dialect);
  if (!spec.engine_socket.empty()) {
    host["Mounts"].as_array().emplace_back(bound(spec.engine_socket, kSocketInside));
    host["GroupAdd"] = json::Array{std::to_string(spec.socket_group)};
  }
  if (spec.nano_cpus > 0) host["NanoCpus"] = spec.nano_cpus;
  if (spec.cpu_shares > 0) host["CpuShares"] = spec.cpu_shares;
  if (!spec.runtime.empty()) host["Runtime"] = spec.runtime;
  if (spec.limits_root)
    host["StorageOpt"] = json::Object{{"size", std::to_string(spec.disk_bytes)}};
  return {
      {"Image", spec.image_id.empty() ? spec.image : spec.image_id},
      {"User", user()},
      {"WorkingDir", "/"},
      {"Hostname", spec.sandbox_id},
      {"Entrypoint", json::Array{kAgentInside}},
      {"Cmd", spec.door.empty() ? json::Array{native::kAnswerWord}
                                : json::Array{"call", std::string(kDoorInside) + "/agent.sock"}},
      {"Healthcheck", json::Object{{"Test", json::Array{"NONE"}}}},
      // The runtime makes the namespace; otherwise Docker does, with a helper that takes as long as
      // all the rest.
      {"NetworkDisabled", spec.network == Network::none},
      {"Labels", std::move(labels)},
      {"HostConfig", std::move(host)},
  };
}

}  // namespace

std::string container_name(std::string_view sandbox_id) {
  return "atoll-" + std::string(sandbox_id);
}

Result<> check_least(const Resources& asked) {
  if (asked.cpu && *asked.cpu < kLeastCpu) {
    return Error(Code::invalid_argument,
                 "resources.cpu: a container has at least 0.01 of a processor")
        .with_hint("the kernel counts its time in thousandths of a tenth of a second");
  }
  constexpr auto kLeastMib = static_cast<int64_t>(native::kSmallestMemory >> 20);
  if (asked.memory_mb.value_or(kLeastMib) < kLeastMib) {
    return Error(Code::invalid_argument, "resources.memory_mb: a sandbox needs at least " +
                                             std::to_string(kLeastMib) + " MiB of memory")
        .with_hint("a shell runs with that; an interpreter takes 64 MiB and more");
  }
  if (asked.pids.value_or(kLeastPids) < kLeastPids) {
    return Error(Code::invalid_argument, "resources.pids: a container needs at least " +
                                             std::to_string(kLeastPids) + " processes")
        .with_hint("its agent is one of them, and a shell starts one for each program; " +
                   std::to_string(kDefaultPids) + " is usual");
  }
  return {};
}

Result<ContainerSpec> make_container_spec(const SandboxSpec& spec) {
  const bool is_template = spec.root && !spec.template_id.empty();
  if (spec.root && !is_template) {
    return Error(Code::unsupported, "a container engine cannot take a directory as its root")
        .with_hint("make a template of it: atoll template add NAME DIRECTORY");
  }
  const Resources& asked = spec.resources;
  if (asked.sharing == Sharing::dedicated) {
    return Error(Code::unsupported, "a container engine does not give processors to one alone")
        .with_hint("take --driver native");
  }
  TRY_OK(check_least(asked));
  ContainerSpec made;
  made.sandbox_id = spec.id;
  const auto mib = [](const std::optional<int64_t>& value, uint64_t usual) {
    return value ? static_cast<uint64_t>(*value) << 20 : usual;
  };
  made.memory_bytes = mib(asked.memory_mb, native::kDefaultMemory);
  made.disk_bytes = mib(asked.disk_mb, native::kDefaultDisk);
  made.runtime = spec.runtime;
  made.network = spec.network;
  made.home = spec.home;
  made.is_persistent = spec.persistence != Persistence::ephemeral;
  made.limits_root = made.is_persistent;
  made.must_limit_root = made.is_persistent && asked.disk_mb.has_value();
  if (asked.pids) made.pids = static_cast<uint64_t>(*asked.pids);
  if (asked.cpu) made.nano_cpus = nano_cpus_of(*asked.cpu);
  if (asked.cpu_weight) made.cpu_shares = shares_of(*asked.cpu_weight);
  return made;
}

std::string to_json(const ContainerSpec& spec, const Dialect& dialect) {
  return text_of(container_of(spec, dialect));
}

std::string to_trial_json(const ContainerSpec& spec, const Dialect& dialect) {
  auto container = container_of(spec, dialect);
  container["Cmd"] = json::Array{native::kKernelWord};
  return text_of(container);
}

void make_room_for_sentry(ContainerSpec& spec) {
  spec.memory_bytes += native::kSentryMemory;
  spec.pids = native::kSentryProcesses;
  spec.is_sentry = true;
}

Result<> check_sentry(const Resources& asked) {
  if (!asked.pids) return {};
  return Error(Code::unsupported, "the number of processes behind gVisor's kernel has no limit")
      .with_hint("leave out pids, or take another runtime");
}

std::string to_sentry_update_json(Resources resources, uint64_t processors) {
  if (resources.memory_mb) *resources.memory_mb += native::kSentryMemory >> 20;
  return to_update_json(resources, processors);
}

std::string to_update_json(const Resources& resources, uint64_t processors) {
  json::Object changed;
  if (resources.memory_mb) {
    changed["Memory"] = static_cast<uint64_t>(*resources.memory_mb) << 20;
    changed["MemorySwap"] = changed["Memory"];
  }
  if (resources.pids) changed["PidsLimit"] = *resources.pids;
  if (resources.cpu) {
    const auto most =
        processors > 0 ? processors * kNanoCpus : std::numeric_limits<uint64_t>::max();
    changed["NanoCpus"] = std::min(nano_cpus_of(*resources.cpu), most);
  }
  if (resources.cpu_weight) changed["CpuShares"] = shares_of(*resources.cpu_weight);
  return text_of(changed);
}

std::string root_archive(const ContainerSpec& spec) {
  std::string archive;
  std::vector<std::string_view> places{native::kWorkspace, native::kHome};
  if (!spec.home.empty()) places.emplace_back(spec.home);
  for (const std::string_view path : places) {
    TarEntry entry;
    entry.path = path.substr(1);
    entry.kind = TarKind::directory;
    entry.mode = 0755;
    entry.owner = entry.group = native::kUserId;
    archive += tar_header(entry);
  }
  return archive + tar_end();
}

std::string agent_archive(std::string_view program) {
  TarEntry entry;
  entry.path = kAgentInside.substr(kOursInside.size() + 1);
  entry.size = program.size();
  entry.mode = 0555;
  return tar_header(entry) + std::string(program) + tar_padding(program.size()) + tar_end();
}

std::string describe(const ContainerSpec& spec) {
  const auto mib = [](uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  std::string text = "container     " + container_name(spec.sandbox_id) + "\n";
  text += "image         " + spec.image;
  text +=
      spec.is_persistent ? ", and a layer of its own that can be written to\n" : ", read-only\n";
  if (!spec.runtime.empty()) text += "runtime       " + spec.runtime + "\n";
  text += "user          " + user() + ", no capabilities, no new privileges\n";
  text += spec.network == Network::bridge
              ? "network       the engine's bridge, and whatever can be reached from there\n"
              : "network       none, but for its own loopback\n";
  if (!spec.engine_socket.empty())
    text += "socket        " + spec.engine_socket + ": it rules the engine's host\n";
  text += "memory        " + mib(spec.memory_bytes) + ", no swap beyond it\n";
  text += "processes     " + std::to_string(spec.pids) + "\n";
  text += "processors    " +
          (spec.nano_cpus == 0 ? "as many as there are"
                               : std::to_string(spec.nano_cpus / 1'000'000) + " thousandths") +
          "\n";
  for (const auto& share : spec.shares) {
    text += "host          " + share.source + " at " + share.target +
            (share.is_writable ? ", writable\n" : ", read-only\n");
  }
  text += "writable      ";
  for (const auto& path : in_memory(spec)) text += std::string(path) + " ";
  if (has_home_in_memory(spec)) text += spec.home + " ";
  for (const auto& path : spec.volumes) text += path + " ";
  text += "in memory, each at most " + mib(spec.disk_bytes) + "\n";
  if (spec.is_persistent) {
    text += "on the disk   " + std::string(native::kWorkspace) + " " + native::kHome +
            (spec.home.empty() ? "" : " " + spec.home) + " and all else, at most " +
            mib(spec.disk_bytes) +
            (spec.must_limit_root ? "\n" : " if the engine's storage can limit it\n");
  }
  return text;
}

}  // namespace atl::container
