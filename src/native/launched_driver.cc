#include "native/launched_driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/text.h"
#include "base/workers.h"
#include "driver/file_snapshots.h"
#include "native/host_view.h"
#include "native/keeper_call.h"
#include "native/landlock.h"
#include "native/launched_sandbox.h"
#include "native/parked_boxes.h"
#include "native/plan.h"
#include "native/storage_choice.h"
#include "net/byte_stream.h"
#include "os/file.h"
#include "telemetry/log.h"

namespace atl::native {
namespace {

constexpr size_t kKeeperThreads = 2;
// The least that a second kernel starts with in time, and that its programs, whose address space it
// counts, can be loaded with.
constexpr double kSmallestSentryCpu = 0.05;
constexpr int64_t kSmallestSentryMib = 16;

Result<> check_sentry_can_start(const Resources& asked) {
  if (asked.cpu && *asked.cpu < kSmallestSentryCpu) {
    return Error(Code::invalid_argument,
                 "resources.cpu: gVisor needs at least 0.05 of a processor to start")
        .with_hint("its kernel is a program that has to be started first; take 0.1 or more");
  }
  if (asked.memory_mb.value_or(kSmallestSentryMib) < kSmallestSentryMib) {
    return Error(Code::invalid_argument,
                 "resources.memory_mb: gVisor counts address space, and no program is loaded with "
                 "less than 16 MiB")
        .with_hint("a shell runs with 16 MiB; an interpreter takes 256 MiB and more");
  }
  return {};
}

// In memory only: the configuration holds environment values.
Result<Fd> memory_file(const std::string& bytes) {
  if (bytes.size() > kLargestConfig) {
    return Error(Code::too_large, "the sandbox's environment is larger than 512 KiB");
  }
  Fd fd(memfd_create("atoll-config", MFD_CLOEXEC));
  if (!fd) return os_error("making a memory file");
  TRY_OK(os::write_all(fd.get(), bytes));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return os_error("rewinding a memory file");
  return fd;
}

// Which directory each number of a described plan stands for.
std::string describe_directories(const SandboxSpec& spec) {
  std::vector<const HostDirectory*> directories;
  if (spec.root) directories.push_back(&*spec.root);
  if (spec.workspace) directories.push_back(&*spec.workspace);
  for (const auto& mount : spec.mounts) directories.push_back(&mount);
  std::string text;
  for (size_t i = 0; i < directories.size(); ++i) {
    text += "directory " + std::to_string(i) + "   " + to_printable(directories[i]->host_path) +
            " of the host\n";
  }
  return text;
}

class LaunchedDriver final : public Driver {
 public:
  LaunchedDriver(asio::any_io_executor executor, LauncherClient& launcher,
                 LaunchedDriverOptions options)
      : executor_(std::move(executor)), launcher_(launcher), options_(std::move(options)) {
    // A second kernel writes to the caller's file where it thinks the end is.
    options_.capabilities.direct_stdio = !options_.sentry;
    options_.capabilities.pty = true;
    // Where users are the host's, so are the watches that each of them may have, and the filter
    // lets nobody take any.
    options_.capabilities.watch = options_.capabilities.isolation != Isolation::process;
    options_.capabilities.ports = is_box();
    // A new box has nothing of an old one, whose id it may have.
    options_.capabilities.reset = is_box();
    if (!options_.snapshots.empty()) {
      options_.capabilities.snapshot = options_.capabilities.fork = true;
      // A box whose kernel is a process of ours can be kept as that is.
      options_.capabilities.checkpoint = options_.sentry;
      snapshots_ = std::make_unique<FileSnapshots>(executor_, options_.snapshots);
      keeper_calls_ = std::make_unique<Workers>(executor_, kKeeperThreads);
    }
    launcher_.subscribe([this](const EndedEvent& event) { on_event(event); });
    parked_ = ParkedBoxes::create(executor_, system_clock(), is_box() ? options_.most_parked : 0,
                                  [this](std::string id, BoxRequest request) {
                                    return make_parked(std::move(id), std::move(request));
                                  });
  }

  std::string_view name() const override { return options_.name; }
  std::optional<int64_t> only_user() const override {
    return is_box() ? int64_t{kUserId} : int64_t{geteuid()};
  }
  Isolation strongest(std::string_view runtime) const override {
    return runtime.empty() ? options_.capabilities.isolation : Isolation::none;
  }

  Task<Capabilities> probe() override {
    if (!is_box() && options_.confinement != Confinement::none) {
      auto rules = LandlockRules::create();
      if (!rules) co_return std::move(rules).error();
    }
    CO_TRY(const auto hello, co_await launcher_.hello());
    if (!is_box()) co_return options_.capabilities;
    const auto& boxes = hello.boxes;
    if (boxes.rootless != options_.rootless) {
      if (options_.rootless) {
        co_return Error(Code::unsupported, "Atoll runs as root here, and native is stronger")
            .with_hint("use --driver native, or start atoll as another user");
      }
      co_return Error(Code::unsupported, "it needs a launcher that runs as root")
          .with_hint(
              "start atoll as root (atoll serve drops to its own user), or use --driver "
              "rootless");
    }
    if (!boxes.available) co_return Error(Code::unavailable, boxes.reason).with_hint(boxes.hint);
    Capabilities can = options_.capabilities;
    const auto enforced = [&](uint8_t role) {
      return (boxes.cgroup_roles & role) != 0 ? Limit::enforced : Limit::none;
    };
    const bool grouped = boxes.cgroup_version != CgroupVersion::none;
    can.limits.cpu = enforced(kRoleCpu);
    can.limits.memory = grouped ? enforced(kRoleMemory) : Limit::per_process;
    can.limits.pids = Limit::enforced;
    can.limits.cpu_time =
        (boxes.cgroup_roles & kRoleUsage) != 0 ? Limit::enforced : Limit::per_process;
    can.kill_tree = grouped ? KillTree::sure : KillTree::best_effort;
    can.pause = (boxes.cgroup_roles & kRoleFreezer) != 0 ? Pause::memory : Pause::none;
    can.resize = grouped;
    can.dedicated = boxes.dedicated;
    if (!grouped) {
      can.not_protected.push_back("processor time and the sum of memory are not limited: " +
                                  boxes.cgroup_reason);
    }
    const std::string no_pool = options_.rootless ? "it needs root" : find_pool_obstacle().reason;
    if (!no_pool.empty()) {
      can.not_protected.push_back(
          "files live in memory, however large the disk: there is no storage pool, " + no_pool);
    }
    if (options_.sentry) {
      // That it is what it should be, each sandbox finds out for itself: an agent that wakes up in
      // the host's kernel ends (agent/gate.h).
      if (find_runtime().empty()) {
        co_return Error(Code::unavailable, "runsc is not installed")
            .with_hint("install gVisor's runsc: apt install runsc");
      }
      limit_by_second_kernel(can);
    }
    // Those with a second kernel weigh too much for hosts on which nobody asks for one.
    if (!options_.sentry) parked_->expect(make_box_request(SandboxSpec()));
    co_return can;
  }

  Task<std::string> explain(SandboxSpec spec) override {
    if (!is_box()) co_return co_await Driver::explain(std::move(spec));
    CO_TRY(const auto hello, co_await launcher_.hello());
    CO_TRY_OK(make_box_config(spec));
    const auto authority = options_.rootless ? Authority::rootless : Authority::root;
    const auto cgroups = CgroupSlice::as_told(hello.boxes.cgroup_version, hello.boxes.cgroup_roles);
    CO_TRY(const auto plan,
           make_plan(spec.id, make_box_request(spec), view_host(), authority, cgroups, LayerSet()));
    co_return describe(plan) + "storage       " + storage_of(spec).reason + "\n" +
        describe_directories(spec);
  }

  std::string reserve(const SandboxSpec& spec) override {
    if (!is_box() || spec.root || spec.workspace || !spec.mounts.empty()) return "";
    // What was kept begins with that; and of what cannot start none is made ahead.
    if (!spec.snapshot.empty()) return "";
    if (options_.sentry && !check_sentry_can_start(spec.resources)) return "";
    BoxRequest request = make_box_request(spec);
    if (!spec.warm.empty()) {
      request.warm = spec.warm;
      // A kernel and an interpreter are more than is worth keeping.
      std::string id = options_.sentry ? "" : parked_->reserve(request);
      // Who has asked for one by name waits for it; a run does not.
      if (!id.empty() || !spec.is_run) return id;
      request.warm.clear();
    }
    return parked_->reserve(request);
  }

  std::optional<MadeAhead> made_ahead() const override {
    if (!is_box() || options_.most_parked == 0) return std::nullopt;
    const auto counts = parked_->counts();
    return MadeAhead{counts.hits, counts.misses, counts.parked};
  }

  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) override {
    if (auto parked = parked_->take(spec.id)) {
      // We have made them all ourselves.
      auto* const ours = static_cast<LaunchedSandbox*>(parked.get());
      auto handed = co_await hand_over(ours, {spec.env, spec.is_run}, spec.expires_at);
      parked_->refill();
      if (handed) co_return std::move(parked);
      // It has died meanwhile; the id is as good for another one.
      CO_TRY_OK(co_await parked->destroy());
    }
    CO_TRY(auto config, is_box() ? make_box_config(spec) : make_config(spec));
    // A run's command is there before an interpreter that is started now could be.
    if (is_box() && !spec.is_run) config.warm = spec.warm;
    std::optional<BoxRequest> box;
    if (is_box()) box = make_box_request(spec);
    std::string snapshot = spec.snapshot;
    auto sandbox = co_await make(std::move(spec), std::move(box), std::move(config));
    parked_->refill();
    if (!sandbox) co_return std::move(sandbox).error();
    if (snapshot.empty() || snapshots_->has_image(snapshot))
      co_return std::unique_ptr<Sandbox>(std::move(*sandbox));
    auto filled = co_await put_back((*sandbox)->guest(), std::move(snapshot));
    if (filled) co_return std::unique_ptr<Sandbox>(std::move(*sandbox));
    auto destroyed = co_await (*sandbox)->destroy();
    auto error = std::move(filled).error();
    if (!destroyed)
      error = std::move(error).with("it failed, and its remains could not be removed");
    co_return error;
  }

  Task<SnapshotFacts> snapshot(Sandbox& sandbox, SnapshotRequest request) override {
    const bool with_memory = request.kind == SnapshotKind::memory;
    if (!snapshots_ || (with_memory && !options_.capabilities.checkpoint))
      co_return co_await Driver::snapshot(sandbox, std::move(request));
    if (with_memory) co_return co_await keep_all(sandbox, std::move(request.id));
    std::vector<std::string> places{std::string(kWorkspace),
                                    request.home.empty() ? std::string(kHome) : request.home};
    co_return co_await snapshots_->save(sandbox.guest(), std::move(request.id), std::move(places));
  }

  Task<std::vector<std::string>> list_snapshots() override {
    if (!snapshots_) co_return co_await Driver::list_snapshots();
    co_return snapshots_->list();
  }

  Task<> drop_snapshot(std::string id) override {
    if (!snapshots_) co_return Result<>();
    co_return co_await snapshots_->drop(std::move(id));
  }

  Task<> fork(Sandbox& parent, std::vector<SandboxSpec> children, SnapshotRequest by) override {
    if (!snapshots_) co_return co_await Driver::fork(parent, std::move(children), std::move(by));
    co_return co_await fork_by_snapshot(*this, parent, std::move(children), std::move(by));
  }

  Task<std::unique_ptr<Sandbox>> attach(std::string id) override {
    CO_TRY(auto socket, co_await launcher_.connect(id));
    CO_TRY(auto stream, net::adopt_socket(executor_, std::move(socket)));
    auto sandbox = std::make_unique<LaunchedSandbox>(executor_, launcher_, id, around(), live_,
                                                     std::move(stream));
    CO_TRY_OK(co_await sandbox->guest().greet());
    live_->try_emplace(id);
    co_return std::move(sandbox);
  }

  Task<std::vector<std::string>> list() override {
    const LiveSet before = *live_;
    CO_TRY(auto rows, co_await launcher_.list());
    std::vector<std::string> ids;
    for (auto& row : rows) {
      if (row.driver == options_.name && !parked_->owns(row.id)) ids.push_back(std::move(row.id));
    }
    // One that ended while the launcher itself was dead was never told of.
    for (const auto& [id, expires_at] : before) {
      if (std::ranges::find(ids, id) != ids.end() || parked_->owns(id)) continue;
      const bool was_due = expires_at.count() > 0 && expires_at <= system_clock().boot();
      on_event({id, was_due ? EndCause::expiry : EndCause::death});
    }
    CO_TRY_OK(co_await parked_->trim());
    co_return ids;
  }

  Task<> destroy_orphan(std::string id) override {
    co_return co_await launcher_.destroy(std::move(id));
  }

 private:
  // Its gatekeeper writes it, and brings the sandbox up again; see oci/gatekeeper_keeps.cc.
  Task<SnapshotFacts> keep_all(Sandbox& sandbox, std::string id) {
    CO_TRY(const auto stats, co_await sandbox.stats());
    CO_TRY(auto socket, co_await launcher_.connect(sandbox.id()));
    const auto caller = std::make_shared<Fd>(std::move(socket));
    co_return co_await snapshots_->save_image(
        std::move(id), stats.memory_bytes,
        [caller, stopping = keeper_calls_->stopping()](int directory) -> Result<uint64_t> {
          TRY(const auto answer,
              call_keeper(caller->get(), guest::FrameType::keep, directory, *stopping));
          ByteReader reader(answer);
          const uint64_t left_out = reader.u64();
          TRY_OK(reader.finish());
          return left_out;
        });
  }

  // Before anybody greets the agent, which is not there yet.
  Task<Fd> take_up(Fd socket, std::string snapshot) {
    CO_TRY(auto directory, co_await snapshots_->open_image(std::move(snapshot)));
    const auto image = std::make_shared<Fd>(std::move(directory));
    const auto caller = std::make_shared<Fd>(std::move(socket));
    CO_TRY_OK(co_await keeper_calls_->run<void>(
        [caller, image, stopping = keeper_calls_->stopping()]() -> Result<> {
          TRY_OK(call_keeper(caller->get(), guest::FrameType::take_up, image->get(), *stopping));
          return {};
        }));
    co_return std::move(*caller);
  }

  Task<> put_back(Guest& guest, std::string snapshot) {
    if (!snapshots_)
      co_return Error(Code::unsupported, "driver " + options_.name + " has no snapshots");
    co_return co_await snapshots_->put_back(guest, std::move(snapshot));
  }

  bool is_box() const { return options_.confinement == Confinement::box; }
  Around around() const {
    return options_.sentry ? Around::second_kernel : is_box() ? Around::box : Around::nothing;
  }

  // What the groups around the second kernel bound, they bound for all of it: whatever goes beyond
  // would end the sandbox, and not the command.
  static void limit_by_second_kernel(Capabilities& can) {
    can.limits.memory = Limit::per_process;
    can.limits.pids = Limit::none;
    can.limits.cpu_time = Limit::per_process;
    can.kill_tree = KillTree::best_effort;
    can.resize = false;
    can.dedicated = false;
  }

  Task<std::unique_ptr<LaunchedSandbox>> make(SandboxSpec spec, std::optional<BoxRequest> box,
                                              AgentConfig config) {
    CO_TRY(auto config_file, memory_file(encode(config)));
    // Nobody asks how a run began.
    const bool tells = spec.on_progress && !spec.is_run;
    std::string made = tells ? describe_made(box) : "";
    LaunchRequest request{spec.id,
                          options_.name,
                          static_cast<uint64_t>(spec.expires_at.count()),
                          spec.workspace.has_value(),
                          static_cast<uint32_t>(config.mounts.size()),
                          std::move(box)};
    std::vector<Fd> directories;
    if (spec.root) directories.push_back(std::move(spec.root->directory));
    if (spec.workspace) directories.push_back(std::move(spec.workspace->directory));
    for (auto& mount : spec.mounts) directories.push_back(std::move(mount.directory));
    CO_TRY(auto socket, co_await launcher_.create(spec.tenant, std::move(request),
                                                  std::move(config_file), std::move(directories)));
    end_stage(spec.on_progress, "create", std::move(made));
    begin_stage(spec.on_progress, "boot");
    if (snapshots_ && snapshots_->has_image(spec.snapshot)) {
      auto taken = co_await take_up(std::move(socket), spec.snapshot);
      if (!taken) co_return co_await give_up(spec.id, std::move(taken).error());
      socket = std::move(*taken);
    }
    CO_TRY(auto stream, net::adopt_socket(executor_, std::move(socket)));
    live_->insert_or_assign(spec.id, spec.expires_at);
    auto sandbox = std::make_unique<LaunchedSandbox>(executor_, launcher_, spec.id, around(), live_,
                                                     std::move(stream));
    auto greeted = co_await sandbox->guest().greet();
    if (!greeted) {
      auto destroyed = co_await sandbox->destroy();
      auto error = std::move(greeted).error().with("starting the agent");
      if (!destroyed)
        error = std::move(error).with("it failed, and its remains could not be removed");
      co_return error;
    }
    end_stage(spec.on_progress, "boot", tells ? describe_boot() : "");
    co_return std::move(sandbox);
  }

  // The network of a box is made by the launcher with all the rest of it, so it has no time of its
  // own.
  static std::string describe_made(const std::optional<BoxRequest>& box) {
    if (!box) return "a directory of its own, and the host's namespaces";
    return std::string("namespaces of its own, net: loopback alone; files in ") +
           (box->storage == Storage::pool ? "the storage pool" : "memory");
  }
  std::string describe_boot() const {
    return options_.sentry ? "the agent answers, in gVisor's kernel" : "the agent answers";
  }

  asio::awaitable<Error> give_up(std::string id, Error why) {
    auto destroyed = co_await launcher_.destroy(std::move(id));
    if (!destroyed)
      co_return std::move(why).with("it failed, and its remains could not be removed");
    co_return why;
  }

  Task<std::unique_ptr<Sandbox>> make_parked(std::string id, BoxRequest request) {
    SandboxSpec spec;
    spec.id = std::move(id);
    CO_TRY(auto config, make_box_config(spec));
    config.parked = true;
    config.warm = request.warm;
    CO_TRY(auto box, co_await make(std::move(spec), std::move(request), std::move(config)));
    co_return std::unique_ptr<Sandbox>(std::move(box));
  }

  // Gives a parked sandbox what it was not told when it was made. The agent's answer says that it
  // lives; the launcher's is not waited for, because it takes one request after another.
  Task<> hand_over(LaunchedSandbox* sandbox, guest::HandOver message, Micros expires_at) {
    const bool ends_with_us = message.dies_with_connection;
    CO_TRY_OK(co_await sandbox->guest().hand_over(std::move(message)));
    const auto live = live_->find(sandbox->id());
    if (live == live_->end()) co_return Error(Code::unavailable, "the parked sandbox has died");
    live->second = expires_at;
    if (ends_with_us) co_return Result<>();
    RenewRequest renewal{sandbox->id(), static_cast<uint64_t>(expires_at.count())};
    spawn(executor_, launcher_.renew(std::move(renewal)), [id = sandbox->id()](Result<> renewed) {
      if (renewed) return;
      telemetry::log_warn("a sandbox's end is known to the daemon alone",
                          {{"sandbox", id}, {"why", renewed.error().message()}});
    });
    co_return Result<>();
  }

  Result<AgentConfig> make_box_config(const SandboxSpec& spec) const {
    AgentConfig config;
    config.sandbox_id = spec.id;
    config.env = spec.env;
    // A root of somebody else's may list its users otherwise.
    if (spec.root && !spec.home.empty()) config.env.try_emplace("HOME", spec.home);
    config.confinement = Confinement::box;
    config.dies_with_connection = launcher_.is_embedded() || spec.is_run;
    if (options_.sentry) TRY_OK(check_sentry_can_start(spec.resources));
    if (spec.mounts.size() > kMostMounts)
      return Error(Code::invalid_argument, "more than 16 directories");
    if (spec.workspace) TRY_OK(check_access(*spec.workspace));
    for (const auto& mount : spec.mounts) TRY_OK(check_access(mount));
    return config;
  }

  StorageChoice storage_of(const SandboxSpec& spec) const {
    const auto bytes = [](const std::optional<int64_t>& mib) {
      return static_cast<uint64_t>(mib.value_or(0)) << 20;
    };
    return choose_storage(bytes(spec.resources.disk_mb), bytes(spec.resources.memory_mb),
                          options_.rootless ? Authority::rootless : Authority::root,
                          find_pool_obstacle);
  }

  BoxRequest make_box_request(const SandboxSpec& spec) const {
    BoxRequest box;
    const CgroupLimits limits = limits_of(spec.resources);
    box.memory_bytes = limits.memory_bytes;
    box.reserved_memory_bytes = limits.reserved_memory_bytes;
    if (spec.resources.sharing == Sharing::dedicated) {
      box.dedicated_cpus = static_cast<uint32_t>(spec.resources.cpu.value_or(1));
    }
    box.cpu_millis = limits.cpu_millis;
    box.cpu_weight = limits.cpu_weight;
    box.pids = limits.pids;
    if (spec.resources.disk_mb)
      box.disk_bytes = static_cast<uint64_t>(*spec.resources.disk_mb) << 20;
    box.storage = storage_of(spec).storage;
    box.sentry = options_.sentry;
    box.has_root = spec.root.has_value();
    box.has_workspace = spec.workspace.has_value();
    box.home = spec.home;
    const auto shown = [](HostAccess access) {
      return access == HostAccess::ro   ? ShownAs::ro
             : access == HostAccess::rw ? ShownAs::rw
                                        : ShownAs::cow;
    };
    if (spec.workspace) box.directories.push_back({kWorkspace, shown(spec.workspace->access)});
    for (const auto& mount : spec.mounts) {
      const std::string& path = mount.guest_path.empty() ? mount.host_path : mount.guest_path;
      box.directories.push_back({path, shown(mount.access)});
    }
    return box;
  }

  bool is_tree() const { return options_.confinement == Confinement::tree; }

  Result<AgentConfig> make_config(const SandboxSpec& spec) const {
    if (spec.root && !is_tree()) {
      return Error(Code::unsupported, "driver " + options_.name + " has no root of its own")
          .with_hint("take a driver that has: --driver native");
    }
    if (!spec.home.empty()) {
      return Error(Code::unsupported, "driver " + options_.name + " cannot make a home")
          .with_hint("take a driver with a root of its own: --driver native");
    }
    AgentConfig config;
    config.sandbox_id = spec.id;
    config.env = spec.env;
    config.confinement = options_.confinement;
    if (spec.resources.memory_mb)
      config.memory_bytes = static_cast<uint64_t>(*spec.resources.memory_mb) << 20;
    config.dies_with_connection = launcher_.is_embedded() || spec.is_run;
    if (spec.workspace) {
      TRY_OK(check_access(*spec.workspace));
      config.workspace_writable = spec.workspace->access == HostAccess::rw;
    }
    if (is_tree()) {
      if (!spec.root)
        return Error(Code::invalid_argument, "rootfs: " + options_.name + " needs one");
      config.mounts.push_back({"/", false});
    }
    if (spec.mounts.size() > kMostMounts)
      return Error(Code::invalid_argument, "more than 16 directories");
    for (const auto& mount : spec.mounts) {
      TRY_OK(check_access(mount));
      TRY(auto path, os::path_of(mount.directory.get()));
      // Without a file system root of its own a sandbox sees a directory where the host has it, or
      // not at all.
      if (!mount.guest_path.empty() && mount.guest_path != mount.host_path &&
          mount.guest_path != path) {
        return Error(Code::unsupported, "driver " + options_.name + " cannot show " +
                                            mount.host_path + " as " + mount.guest_path)
            .with_hint("use the same path inside, -v " + path +
                       ", or a driver with a root of its own");
      }
      config.mounts.push_back({path, mount.access == HostAccess::rw});
    }
    TRY_OK(check_overlap(spec));
    return config;
  }

  // Landlock adds rights up: what is writable above or beside cannot be read-only below.
  static Result<> check_overlap(const SandboxSpec& spec) {
    std::vector<std::string> writable, read_only;
    const auto note = [&](const HostDirectory& directory) -> Result<> {
      TRY(auto path, os::path_of(directory.directory.get()));
      (directory.access == HostAccess::rw ? writable : read_only).push_back(std::move(path));
      return {};
    };
    if (spec.workspace) TRY_OK(note(*spec.workspace));
    for (const auto& mount : spec.mounts) TRY_OK(note(mount));
    for (const auto& above : writable) {
      const std::string prefix = above == "/" ? above : above + "/";
      for (const auto& below : read_only) {
        if (below != above && !below.starts_with(prefix)) continue;
        std::string why = below;
        why.append(" cannot be read-only inside of ").append(above).append(", which is writable");
        return Error(Code::unsupported, std::move(why))
            .with_hint("make both read-only, or take a driver with a root of its own");
      }
    }
    return {};
  }

  Result<> check_access(const HostDirectory& directory) const {
    const auto& can = options_.capabilities;
    const bool possible = (directory.access == HostAccess::ro && can.host_dir_ro) ||
                          (directory.access == HostAccess::rw && can.host_dir_rw) ||
                          (directory.access == HostAccess::cow && can.host_dir_cow);
    if (possible) return {};
    return Error(Code::unsupported,
                 "driver " + options_.name + " cannot offer a host directory in this way");
  }

  void on_event(const EndedEvent& event) {
    // Another driver's, or one that is being destroyed on request.
    if (live_->erase(event.id) == 0) return;
    if (parked_->owns(event.id)) return parked_->forget(event.id);
    if (listener_ == nullptr) return;
    const auto why = event.cause == EndCause::expiry   ? EndedBy::expiry
                     : event.cause == EndCause::memory ? EndedBy::memory
                                                       : EndedBy::death;
    listener_->on_ended(*this, event.id, why);
  }

  asio::any_io_executor executor_;
  LauncherClient& launcher_;
  LaunchedDriverOptions options_;
  std::shared_ptr<LiveSet> live_ = std::make_shared<LiveSet>();
  std::shared_ptr<ParkedBoxes> parked_;
  std::unique_ptr<FileSnapshots> snapshots_;  // null without
  std::unique_ptr<Workers> keeper_calls_;     // as that
};

}  // namespace

LaunchedDriverOptions box_options(std::string name) {
  LaunchedDriverOptions options;
  options.name = std::move(name);
  options.confinement = Confinement::box;
  auto& can = options.capabilities;
  can.isolation = Isolation::container;
  can.typical_start_ms = 4;
  can.limits = {.disk = Limit::enforced,
                .open_files = Limit::per_process,
                .output = Limit::enforced,
                .wall_time = Limit::enforced};
  can.network = NetworkControl::deny;
  can.own_root = true;
  can.homes = true;
  can.root_dir = true;
  can.templates = true;
  can.host_dir_ro = true;
  can.host_dir_rw = true;
  can.host_dir_cow = true;
  can.not_protected = {
      "sandboxes share the host's kernel: a bug in it is a way out",
      "programs in /usr are the host's, so their versions and names are visible",
      "files that a sandbox writes are gone with it",
  };
  return options;
}

std::unique_ptr<Driver> make_launched_driver(asio::any_io_executor executor,
                                             LauncherClient& launcher,
                                             LaunchedDriverOptions options) {
  return std::make_unique<LaunchedDriver>(std::move(executor), launcher, std::move(options));
}

}  // namespace atl::native
