#include "container/engine_driver.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/text.h"
#include "container/container_sandbox.h"
#include "container/container_spec.h"
#include "native/agent_config.h"
#include "native/agent_places.h"
#include "native/box_facts.h"
#include "os/file.h"
#include "telemetry/log.h"

namespace atl::container {
namespace {

constexpr Millis kLookAgain{500};
constexpr Isolation kStrongest = Isolation::container;

std::string variable(std::string_view name) {
  const char* value = getenv(std::string(name).c_str());
  return value != nullptr ? value : "";
}

std::string usual_socket(const Dialect& dialect) {
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  if (geteuid() != 0 && runtime.starts_with('/')) {
    std::string own = runtime + "/" + std::string(dialect.own_part);
    if (access(own.c_str(), F_OK) == 0) return own;
  }
  return std::string(dialect.socket);
}

// What the agent is told instead of what the launcher would say: it is alone with one user, and the
// engine has made everything that is around it.
Result<std::string> first_words(const SandboxSpec& spec, const ContainerSpec& made,
                                bool ends_with_us) {
  native::AgentConfig config;
  config.sandbox_id = spec.id;
  config.env = spec.env;
  config.confinement = native::Confinement::box;
  config.dies_with_connection = ends_with_us || spec.is_run;
  config.expires_at = spec.expires_at;
  native::BoxFacts facts;
  facts.boxed = true;
  facts.rootless = true;
  facts.has_own_root = true;
  // Its root is not of the launcher's making, and there are no files of /proc to write.
  facts.without.add(native::Layer::root);
  facts.rlimits = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, native::kDefaultOpenFiles}};
  facts.memory_bytes = made.memory_bytes;
  const std::string encoded = encode(config);
  if (encoded.size() > native::kLargestConfig)
    return Error(Code::too_large, "the sandbox's environment is larger than 512 KiB");
  ByteWriter words;
  words.text(encoded);
  words.text(encode(facts));
  return std::move(words).bytes();
}

// Until a sandbox has ended that nobody has asked to end.
Task<> watch(std::shared_ptr<Fleet> fleet, std::string id) {
  const std::string container = container_name(id);
  int64_t exit_code = 0;
  while (fleet->live.contains(id) && !fleet->closing.fired()) {
    auto ended = co_await fleet->client.wait(container);
    if (ended) exit_code = *ended;
    if (ended || ended.error().code() == Code::not_found) break;
    // The engine has died or been restarted. What became of the container is known when it is back.
    auto closing = co_await fleet->closing.wait_for(kLookAgain);
    if (closing || closing.error().code() == Code::cancelled) break;
  }
  const auto found = fleet->live.find(id);
  if (fleet->closing.fired() || found == fleet->live.end()) co_return Result<>();
  const Micros due = found->second;
  fleet->live.erase(found);
  const bool has_expired =
      exit_code == native::kAgentExpired || (due.count() > 0 && due <= system_clock().boot());
  auto removed = co_await remove_container(fleet, id);
  if (!removed) {
    telemetry::log_warn("a container that has ended is not removed yet",
                        {{"sandbox", id}, {"why", removed.error().message()}});
  }
  if (fleet->tell) fleet->tell(id, has_expired ? EndedBy::expiry : EndedBy::death);
  co_return Result<>();
}

class EngineDriver final : public Driver {
 public:
  EngineDriver(asio::any_io_executor executor, const Dialect& dialect, EngineDriverOptions options)
      : dialect_(dialect), options_(std::move(options)) {
    if (options_.image.empty()) options_.image = kUsualImage;
    std::string socket = options_.host.empty() ? usual_socket(dialect) : options_.host;
    if (socket.starts_with("unix://")) socket.erase(0, 7);
    fleet_ = std::make_shared<Fleet>(executor, dialect, std::move(socket));
    fleet_->directory = options_.directory;
    fleet_->tell = [this](std::string id, EndedBy why) {
      if (listener_ != nullptr) listener_->on_ended(std::move(id), why);
    };
  }

  ~EngineDriver() override {
    fleet_->tell = nullptr;
    fleet_->closing.fire();
    fleet_->client.close();
    if (!options_.ends_with_us) return;
    rmdir(options_.directory.c_str());
    rmdir(above().c_str());
  }

  std::string_view name() const override { return dialect_.name; }
  Isolation strongest() const override { return kStrongest; }
  bool is_somebody_elses() const override { return true; }

  Task<Capabilities> probe() override {
    CO_TRY_OK(check_setup());
    CO_TRY_OK(co_await fleet_->client.greet());
    CO_TRY_OK(co_await find_volumes());
    co_return capabilities();
  }

  Task<std::string> explain(SandboxSpec spec) override {
    CO_TRY(auto made, make_container_spec(spec));
    made.image = options_.image;
    CO_TRY(made.volumes, co_await find_volumes());
    co_return describe(made);
  }

  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) override {
    if (!is_sandbox_id(spec.id)) co_return Error(Code::invalid_argument, "malformed sandbox id");
    CO_TRY_OK(check_setup());
    CO_TRY(auto made, make_container_spec(spec));
    made.instance = options_.directory;
    made.image = options_.image;
    made.agent = options_.agent;
    CO_TRY(auto words, first_words(spec, made, options_.ends_with_us));
    CO_TRY(made.volumes, co_await find_volumes());
    CO_TRY_OK(make_places());
    CO_TRY(auto door, AgentDoor::make(fleet_->executor, options_.directory, spec.id));
    made.door = door->path();
    auto sandbox =
        co_await start(spec.id, made, std::move(door), std::move(words), spec.expires_at);
    if (sandbox) {
      spawn(fleet_->executor, watch(fleet_, spec.id));
      co_return std::move(sandbox);
    }
    fleet_->live.erase(spec.id);
    // One that another has made under this name is not ours to remove.
    Result<> removed = AgentDoor::remove(options_.directory, spec.id);
    if (sandbox.error().code() != Code::already_exists)
      removed = co_await remove_container(fleet_, spec.id);
    auto error = std::move(sandbox).error();
    // It bears our labels, so that list() shows it as soon as the engine answers again.
    if (!removed) error = std::move(error).with("and its remains could not be removed yet");
    co_return error;
  }

  Task<std::unique_ptr<Sandbox>> attach(std::string id) override {
    if (!is_sandbox_id(id)) co_return Error(Code::not_found, "no sandbox " + to_printable(id));
    CO_TRY_OK(check_setup());
    auto found = co_await fleet_->client.inspect(container_name(id));
    if (!found) co_return std::move(found).error();
    const bool is_ours = is_own(*found) && found->sandbox_id == id;
    if (!is_ours || found->generation != kGeneration)
      co_return Error(Code::not_found, "no container of ours for " + id);
    if (!found->is_running) {
      // Its files were in memory, and have gone with its processes.
      CO_TRY_OK(co_await remove_container(fleet_, id));
      co_return Error(Code::not_found, "the container of " + id + " has ended");
    }
    CO_TRY_OK(make_places());
    CO_TRY(auto door, AgentDoor::take_up(fleet_->executor, options_.directory, id));
    auto sandbox =
        std::make_unique<ContainerSandbox>(fleet_, id, std::move(door), found->pid, std::string());
    const bool was_live = !fleet_->live.try_emplace(id).second;
    // A frozen agent cannot call.
    if (!found->is_paused) {
      auto greeted = co_await sandbox->guest().greet();
      if (!greeted) {
        if (!was_live) fleet_->live.erase(id);
        co_return std::move(greeted).error();
      }
    }
    if (!was_live) spawn(fleet_->executor, watch(fleet_, id));
    co_return std::move(sandbox);
  }

  Task<std::vector<std::string>> list() override {
    CO_TRY_OK(check_setup());
    std::vector<std::string> labels{label(kLabelInstance, options_.directory),
                                    label(kLabelDriver, dialect_.name)};
    CO_TRY(auto ids, co_await fleet_->client.list(std::move(labels)));
    std::erase_if(ids, [](const std::string& id) { return !is_sandbox_id(id); });
    co_return ids;
  }

  Task<> destroy_orphan(std::string id) override {
    if (!is_sandbox_id(id)) co_return Error(Code::invalid_argument, "malformed sandbox id");
    auto found = co_await fleet_->client.inspect(container_name(id));
    if (!found && found.error().code() != Code::not_found) co_return std::move(found).error();
    if (found && !is_own(*found)) co_return Result<>();
    fleet_->live.erase(id);
    co_return co_await remove_container(fleet_, id);
  }

 private:
  static std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=" + std::string(value);
  }

  std::string above() const { return options_.directory.substr(0, options_.directory.rfind('/')); }

  bool is_own(const ContainerState& found) const {
    return found.instance == options_.directory && found.driver == dialect_.name;
  }

  Result<> check_setup() const {
    if (fleet_->client.socket().starts_with('/')) return check_places();
    return Error(Code::unsupported, std::string(dialect_.name) +
                                        " must be on this host, on a Unix socket, and not " +
                                        to_printable(fleet_->client.socket()))
        .with_hint("set " + std::string(dialect_.variable) + "=unix:///path/to/socket");
  }

  Result<> check_places() const {
    if (options_.directory.empty() || access(options_.agent.c_str(), X_OK) != 0) {
      return Error(Code::unavailable, "atoll-agent is not installed beside this program")
          .with_hint("install Atoll completely, or name its folder: ATOLL_LIBEXEC");
    }
    return {};
  }

  // Made when the first one needs it: most never do.
  Result<> make_places() const {
    for (const auto& path : {above(), options_.directory}) {
      if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return os_error("making", path);
    }
    return {};
  }

  Task<std::vector<std::string>> find_volumes() {
    auto volumes = co_await fleet_->client.image_volumes(options_.image);
    if (volumes || volumes.error().code() != Code::not_found) co_return volumes;
    co_return Error(Code::unavailable,
                    std::string(dialect_.name) + " has no image " + to_printable(options_.image))
        .with_hint("fetch it: " + std::string(dialect_.name) + " pull " + options_.image +
                   "; or name another: " + std::string(dialect_.image_variable));
  }

  Capabilities capabilities() const {
    Capabilities can;
    can.isolation = kStrongest;
    can.limits = {.cpu = Limit::enforced,
                  .memory = Limit::enforced,
                  .pids = Limit::enforced,
                  .disk = Limit::enforced,
                  .open_files = Limit::per_process,
                  .output = Limit::enforced,
                  .wall_time = Limit::enforced,
                  .cpu_time = Limit::per_process};
    can.network = NetworkControl::deny;
    can.pause = Pause::memory;
    can.resize = dialect_.can_update;
    can.pty = true;
    can.watch = true;
    can.ports = true;
    can.own_root = true;
    can.not_protected = {
        "sandboxes share the host's kernel: a bug in it is a way out",
        "whoever may use the engine's socket rules the host, and the daemon may",
        "the agent has the commands' user: what it tells of them is not attested",
        "a fork bomb, or a command that uses all memory, can keep the agent from answering",
        "files live in memory and are gone with the sandbox",
        "paths of the host show in the sandbox's list of mounts",
    };
    if (!dialect_.hides_groups) {
      can.not_protected.emplace_back(
          "with control groups of version 1 the sandbox sees the names of the host's groups");
    }
    return can;
  }

  Task<std::unique_ptr<Sandbox>> start(std::string id, ContainerSpec made,
                                       std::unique_ptr<AgentDoor> door, std::string words,
                                       Micros expires_at) {
    const std::string container = container_name(id);
    CO_TRY_OK(door->open());
    auto created = co_await fleet_->client.create(container, to_json(made, dialect_));
    if (!created) co_return std::move(created).error().with("making the container");
    auto started = co_await fleet_->client.start(container);
    if (!started) co_return std::move(started).error().with("starting the container");
    auto state = co_await fleet_->client.inspect(container);
    const bool is_gone = state ? !state->is_running : state.error().code() == Code::not_found;
    if (is_gone) {
      co_return Error(Code::unavailable, "the container ended as soon as it was started")
          .with_hint("its image or the engine's runtime is broken; try: " +
                     std::string(dialect_.name) + " run --rm " + made.image + " true");
    }
    if (!state) co_return std::move(state).error().with("looking at the container");
    // An engine leaves out what its kernel cannot limit, and starts it all the same.
    if (state->memory_bytes != static_cast<int64_t>(made.memory_bytes) ||
        state->pids != static_cast<int64_t>(made.pids)) {
      co_return Error(Code::unavailable, std::string(dialect_.name) +
                                             " does not limit memory and processes on this host")
          .with_hint("its kernel or its control groups lack them: " + std::string(dialect_.name) +
                     " info warns of it");
    }
    fleet_->live.insert_or_assign(id, expires_at);
    auto sandbox = std::make_unique<ContainerSandbox>(fleet_, id, std::move(door), state->pid,
                                                      std::move(words));
    auto greeted = co_await sandbox->guest().greet();
    if (!greeted) co_return std::move(greeted).error().with("starting the agent");
    co_return std::unique_ptr<Sandbox>(std::move(sandbox));
  }

  const Dialect& dialect_;
  EngineDriverOptions options_;
  std::shared_ptr<Fleet> fleet_;
};

}  // namespace

std::unique_ptr<Driver> make_engine_driver(asio::any_io_executor executor, const Dialect& dialect,
                                           EngineDriverOptions options) {
  return std::make_unique<EngineDriver>(std::move(executor), dialect, std::move(options));
}

EngineDriverOptions options_from_environment(const Dialect& dialect) {
  return {.host = variable(dialect.variable), .image = variable(dialect.image_variable)};
}

}  // namespace atl::container
