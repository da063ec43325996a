#include "container/engine_driver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
#include "container/agent_door.h"
#include "container/agent_ways.h"
#include "container/architecture.h"
#include "container/checkpoints.h"
#include "container/container_sandbox.h"
#include "container/container_spec.h"
#include "container/container_watch.h"
#include "container/engine_capabilities.h"
#include "container/kernel_trial.h"
#include "container/left_over.h"
#include "container/making_trouble.h"
#include "container/own_name.h"
#include "container/snapshot_images.h"
#include "driver/file_snapshots.h"
#include "driver/memory_refusal.h"
#include "native/plan.h"
#include "os/file.h"
#include "telemetry/log.h"

namespace atl::container {
namespace {

// Storage that can limit each container by itself. Others can on some file systems, which a
// container shows.
bool has_quotas(std::string_view storage) { return storage == "btrfs" || storage == "zfs"; }

class EngineDriver final : public Driver {
 public:
  EngineDriver(asio::any_io_executor executor, const Dialect& dialect, EngineDriverOptions options)
      : dialect_(dialect), options_(std::move(options)) {
    if (options_.image.empty()) options_.image = kUsualImage;
    auto address =
        parse_engine_address(dialect, options_.host.empty() ? usual_socket(dialect) : options_.host,
                             options_.certificates);
    malformed_ = options_.malformed;
    if (!address) malformed_ = address.error();
    fleet_ =
        std::make_shared<Fleet>(executor, dialect, address ? *std::move(address) : EngineAddress());
    fleet_->directory = options_.directory;
    fleet_->agent = options_.agent;
    if (is_remote() || !options_.ends_with_us) {
      auto own = own_name(options_.directory);
      if (!own) malformed_ = own.error();
      if (own) fleet_->instance = *std::move(own);
    } else {
      fleet_->instance = instance_of_run(options_.directory);
    }
    // What daemons without a name of their own called themselves.
    if (!is_remote() && !options_.ends_with_us) former_ = options_.directory;
    trials_ = std::make_shared<KernelTrials>(fleet_);
    checkpoints_ = std::make_unique<Checkpoints>(fleet_);
    supply_ = std::make_shared<ImageSupply>(fleet_->images, dialect, fleet_->instance,
                                            options_.pull_patience, options_.archive_tree);
    // Who ends with us keeps nothing.
    if (!options_.directory.empty() && !options_.ends_with_us) {
      images_ = std::make_unique<SnapshotImages>(fleet_->client.line(), fleet_->instance, former_);
      files_ = std::make_unique<FileSnapshots>(executor, options_.directory + "-snapshots");
    }
    fleet_->tell = [this](std::string id, EndedBy why) {
      if (listener_ != nullptr) listener_->on_ended(*this, std::move(id), why);
    };
  }

  ~EngineDriver() override {
    fleet_->tell = nullptr;
    fleet_->closing.fire();
    fleet_->client.close();
    if (!options_.ends_with_us) return;
    if (is_remote()) forget_own_name(options_.directory);
    rmdir(options_.directory.c_str());
    rmdir(above().c_str());
  }

  std::string_view name() const override { return dialect_.name; }
  Isolation strongest(std::string_view runtime) const override {
    return runtime.empty() ? Isolation::container : Isolation::vm;
  }
  std::optional<int64_t> only_user() const override { return native::kUserId; }
  bool is_somebody_elses() const override { return true; }

  Task<Capabilities> probe() override {
    // A single run names a runtime seldom, and would wait for the trials of all every time.
    co_return co_await probe_as(options_.ends_with_us ? Runtimes::untried : Runtimes::tried);
  }

  Task<Capabilities> probe_with_runtimes() override {
    co_return co_await probe_as(Runtimes::tried);
  }

  Task<std::string> explain(SandboxSpec spec) override {
    CO_TRY(auto made, make_container_spec(spec));
    CO_TRY(made.shares, make_shares(spec, share_rules(spec)));
    CO_TRY_OK(add_socket(spec, made));
    made.image = spec.image.empty() ? options_.image : spec.image;
    if (!spec.template_id.empty())
      made.image = template_image(dialect_, fleet_->instance, spec.template_id);
    // Of an image that is not there nobody knows the volumes.
    auto found = co_await fleet_->images.inspect(made.image);
    if (found) made.volumes = std::move(found->volumes);
    if (!found && found.error().code() != Code::not_found) co_return std::move(found).error();
    co_return describe(made);
  }

  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) override {
    if (!is_sandbox_id(spec.id)) co_return Error(Code::invalid_argument, "malformed sandbox id");
    CO_TRY_OK(check_setup());
    CO_TRY(auto made, make_container_spec(spec));
    CO_TRY(made.shares, make_shares(spec, share_rules(spec)));
    CO_TRY_OK(add_socket(spec, made));
    const bool goes_on = files_ && files_->has_image(spec.snapshot);
    // More than there are is no ceiling, and docker refuses to be told of one.
    const uint64_t processors = fleet_->processors();
    if (processors > 0 && made.nano_cpus > processors * 1'000'000'000) made.nano_cpus = 0;
    made.instance = fleet_->instance;
    made.agent = fleet_->agent_on_engine();
    if (!goes_on) CO_TRY_OK(co_await give_image(spec, made));
    auto words = make_first_words(spec, made, options_.ends_with_us);
    CO_TRY_OK(words.encoded(Micros(0)));
    if (spec.runtime.empty()) CO_TRY_OK(co_await learn_own_runtime());
    CO_TRY(const auto verdict, co_await judge_runtime(spec.runtime));
    if (verdict.isolation == Isolation::sentry) {
      CO_TRY_OK(check_sentry(spec.resources));
      make_room_for_sentry(made);
    }
    words.facts.outer_kernel = verdict.outer_kernel;
    if (!dialect_.picks_runtime) made.runtime.clear();
    CO_TRY_OK(make_places());
    CO_TRY_OK(co_await remove_left_over());
    const bool knew = own_runtime_.has_value();
    // One that nobody could try may have a kernel of its own, which no socket of ours reaches into.
    const bool can_call = !is_remote() && verdict.outer_kernel.empty() && !verdict.is_untried;
    if (!can_call) CO_TRY_OK(refuse_unseen(made.shares));
    CO_TRY(auto way,
           make_way(*fleet_, spec.id, can_call ? Calling::direct : Calling::relayed, made, words));
    Result<std::unique_ptr<Sandbox>> sandbox = std::unique_ptr<Sandbox>();
    if (goes_on) {
      sandbox = co_await checkpoints_->go_on(*files_, spec.snapshot, made, std::move(way),
                                             std::move(words));
    } else {
      sandbox = co_await start(spec.id, made, std::move(way), std::move(words), spec);
    }
    if (sandbox && !goes_on && files_ && files_->has(spec.snapshot)) {
      auto filled = co_await files_->put_back((*sandbox)->guest(), spec.snapshot);
      if (!filled) sandbox = std::move(filled).error();
    }
    if (sandbox) {
      spawn(fleet_->executor, watch_container(fleet_, spec.id, fleet_->births[spec.id]));
      co_return std::move(sandbox);
    }
    fleet_->live.erase(spec.id);
    // One that another has made under this name is not ours to remove.
    Result<> removed = AgentDoor::remove(options_.directory, spec.id);
    if (sandbox.error().code() != Code::already_exists)
      removed = co_await remove_container(fleet_, spec.id);
    // The container has told of a second kernel, which takes the other way.
    if (!knew && is_own_unknown() && spec.runtime.empty() && removed)
      co_return co_await create(std::move(spec));
    // A service that was started anew may have another by now.
    if (!dialect_.picks_runtime) own_runtime_.reset();
    auto error = std::move(sandbox).error();
    if (!removed) {
      spawn(fleet_->executor, remove_later(fleet_, spec.id));
      // Behind the reason, which comes first.
      Error told(error.code(),
                 error.message() + "; what is left of it goes as soon as the engine answers",
                 error.os_errno());
      error = std::move(told).with_hint(error.hint()).at_stage(error.stage());
    }
    co_return error;
  }

  Task<std::unique_ptr<Sandbox>> attach(std::string id) override {
    if (!is_sandbox_id(id)) co_return Error(Code::not_found, "no sandbox " + to_printable(id));
    CO_TRY_OK(check_setup());
    if (auto newborn = newborn_.extract(id)) {
      if (newborn.mapped()->is_running()) co_return std::move(newborn.mapped());
    }
    auto found = co_await fleet_->client.inspect(container_name(id));
    if (!found) co_return std::move(found).error();
    const bool is_ours = (is_own(*found) || is_formers(*found)) && found->sandbox_id == id;
    if (!is_ours || found->generation != kGeneration)
      co_return Error(Code::not_found, "no container of ours for " + id);
    if (!found->is_running) {
      // Its files were in memory, and have gone with its processes.
      CO_TRY_OK(co_await remove_container(fleet_, id));
      co_return Error(Code::not_found, "the container of " + id + " has ended");
    }
    CO_TRY_OK(make_places());
    CO_TRY(auto way, take_up_way(*fleet_, id, *found));
    auto sandbox =
        std::make_unique<ContainerSandbox>(fleet_, id, std::move(way), std::nullopt,
                                           found->has_own_clock ? OwnClock::yes : OwnClock::no);
    const bool was_live = !fleet_->live.try_emplace(id).second;
    if (!was_live) fleet_->births[id] = ++fleet_->last_birth;
    // A frozen agent cannot call.
    if (!found->is_paused) {
      auto greeted = co_await sandbox->guest().greet();
      if (!greeted) {
        if (!was_live) fleet_->live.erase(id);
        co_return std::move(greeted).error();
      }
    }
    if (!was_live) spawn(fleet_->executor, watch_container(fleet_, id, fleet_->births[id]));
    co_return std::move(sandbox);
  }

  Task<std::vector<std::string>> list() override {
    CO_TRY_OK(check_setup());
    CO_TRY(auto ids, co_await fleet_->client.list(own_labels()));
    std::erase_if(ids,
                  [this](const std::string& id) { return !is_sandbox_id(id) || is_trial(id); });
    // What is left of a container that somebody else has removed.
    if (is_remote()) {
      CO_TRY(auto others, co_await fleet_->client.list_volumes(own_labels()));
      for (auto& id : others) {
        const bool is_new =
            is_sandbox_id(id) && !is_trial(id) && std::ranges::find(ids, id) == ids.end();
        if (is_new) ids.push_back(std::move(id));
      }
    }
    // Whoever died between the two steps of making or removing one has left the other half here.
    for (auto& id : kept_in(options_.directory)) {
      if (!is_trial(id) && std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
    }
    co_return ids;
  }

  Task<> destroy_orphan(std::string id) override {
    if (!is_sandbox_id(id)) co_return Error(Code::invalid_argument, "malformed sandbox id");
    auto found = co_await fleet_->client.inspect(container_name(id));
    if (!found && found.error().code() != Code::not_found) co_return std::move(found).error();
    if (found && !is_own(*found) && !is_formers(*found)) co_return Result<>();
    newborn_.erase(id);
    fleet_->live.erase(id);
    CO_TRY_OK(co_await remove_container(fleet_, id));
    auto labels = own_labels();
    labels.push_back(label(kLabelSandbox, id));
    co_return co_await fleet_->client.remove_labelled(std::move(labels));
  }

  // Files that are in memory go first, while whoever uses the sandbox still can: the agent packs
  // them. Then the engine keeps the root file system.
  Task<SnapshotFacts> snapshot(Sandbox& sandbox, SnapshotRequest request) override {
    if (!images_) co_return co_await Driver::snapshot(sandbox, std::move(request));
    if (request.kind == SnapshotKind::memory) {
      // There are no others.
      CO_TRY_OK(make_places());
      co_return co_await checkpoints_->save(static_cast<ContainerSandbox&>(sandbox), *files_,
                                            std::move(request.id));
    }
    const std::string container = container_name(sandbox.id());
    CO_TRY(auto state, co_await fleet_->client.inspect(container));
    auto places = kept_places(std::move(state.tmpfs));
    if (state.is_paused && !places.empty()) {
      co_return Error(Code::conflict, "the files of a paused sandbox cannot be read")
          .with_hint("resume it first");
    }
    SnapshotFacts facts;
    if (!places.empty()) {
      CO_TRY_OK(make_places());
      CO_TRY(facts, co_await files_->save(sandbox.guest(), request.id, std::move(places)));
    }
    auto bytes = co_await images_->commit(sandbox.id(), request.id);
    if (bytes) {
      facts.bytes += *bytes;
      co_return facts;
    }
    const auto dropped = co_await files_->drop(request.id);
    (void)dropped;  // list_snapshots() shows it
    co_return std::move(bytes).error();
  }

  Task<std::vector<std::string>> list_snapshots() override {
    if (!images_) co_return co_await Driver::list_snapshots();
    CO_TRY(auto ids, co_await images_->list());
    for (auto& id : files_->list()) {
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
    }
    co_return ids;
  }

  // The files of the sandbox are with us, and the image that they belong to is not with the engine.
  Task<std::vector<std::string>> list_broken_snapshots() override {
    if (!images_) co_return co_await Driver::list_broken_snapshots();
    auto ids = files_->list();
    if (ids.empty()) co_return ids;
    CO_TRY(const auto whole, co_await images_->list());
    // What is of memory has no image.
    std::erase_if(ids, [&](const std::string& id) {
      return files_->has_image(id) || std::ranges::find(whole, id) != whole.end();
    });
    co_return ids;
  }

  Task<std::vector<std::string>> list_doubtful_snapshots() override {
    if (!images_) co_return co_await Driver::list_doubtful_snapshots();
    CO_TRY(auto ids, co_await images_->list_formers());
    const auto here = files_->list();
    std::erase_if(ids,
                  [&](const std::string& id) { return std::ranges::find(here, id) != here.end(); });
    co_return ids;
  }

  Task<> drop_snapshot(std::string id) override {
    if (!images_) co_return Result<>();
    if (!is_snapshot_id(id)) co_return Error(Code::invalid_argument, "malformed snapshot id");
    CO_TRY_OK(co_await images_->drop(id));
    co_return co_await files_->drop(std::move(id));
  }

  Task<> forget_templates(std::function<bool(const std::string&)> is_needed) override {
    if (malformed_) co_return Result<>();
    CO_TRY_OK(co_await drop_left_trial_images(fleet_, [this](const std::string& instance) {
      const bool is_trying = !trials_->under_way().empty() || !checkpoints_->under_way().empty();
      return instance == fleet_->instance && !is_trying;
    }));
    co_return co_await supply_->forget(std::move(is_needed));
  }

  Task<> fork(Sandbox& parent, std::vector<SandboxSpec> children, SnapshotRequest by) override {
    if (!images_) co_return co_await Driver::fork(parent, std::move(children), std::move(by));
    CO_TRY_OK(co_await snapshot(parent, by));
    std::vector<std::string> made;
    for (auto& child : children) {
      child.snapshot = by.id;
      const std::string id = child.id;
      auto sandbox = co_await create(std::move(child));
      if (sandbox) {
        newborn_[id] = *std::move(sandbox);
        made.push_back(id);
        continue;
      }
      for (const auto& one : made) {
        // What stays is in list(), and the sweeper destroys it.
        const auto dropped = co_await destroy_orphan(one);
        (void)dropped;
      }
      co_return std::move(sandbox).error();
    }
    co_return Result<>();
  }

 private:
  enum class Runtimes : uint8_t { untried, tried };

  Task<Capabilities> probe_as(Runtimes runtimes) {
    CO_TRY_OK(check_setup());
    CO_TRY_OK(co_await fleet_->client.line().greet());
    const bool tries = runtimes == Runtimes::tried;
    if (!tries && !is_remote()) co_return engine_capabilities(dialect_, traits());
    CO_TRY(const auto facts, co_await fleet_->client.facts());
    if (is_remote()) CO_TRY_OK(check_agent_runs(facts.architecture, "the engine's machine"));
    own_runtime_ = facts.default_runtime;
    if (!limits_roots_) limits_roots_ = has_quotas(facts.storage);
    filters_calls_ = facts.filters_calls;
    Capabilities can = engine_capabilities(dialect_, traits());
    if (!tries) co_return can;
    if (dialect_.keeps_memory && images_) {
      CO_TRY_OK(make_places());
      const auto kept = co_await checkpoints_->try_out(facts.default_runtime);
      can.checkpoint = static_cast<bool>(kept);
      const std::string why = kept ? "" : checkpoints_->obstacle()->message();
      if (!kept) can.not_protected.push_back(std::string(kMemoryNotKept) + why);
    }
    for (const auto& runtime : facts.runtimes) {
      if (!dialect_.picks_runtime && runtime.name != facts.default_runtime) continue;
      CO_TRY(const auto verdict, co_await trials_->judge(runtime, find_plain_runtime(facts)));
      add_runtime(can, runtime.name, verdict);
      if (runtime.name == facts.default_runtime) limit_by_own_kernel(can, verdict);
    }
    co_return can;
  }

  static std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=" + std::string(value);
  }

  ProgressListener listeners(ProgressListener asked) const {
    if (!options_.on_progress) return asked;
    return [asked = std::move(asked), other = options_.on_progress](const Progress& progress) {
      if (asked) asked(progress);
      other(progress);
    };
  }

  // Once. What stays is tried again by the next run.
  Task<> remove_left_over() {
    if (!options_.ends_with_us || std::exchange(has_looked_, true)) co_return Result<>();
    CO_TRY(const auto all,
           co_await fleet_->client.list_owners({label(kLabelDriver, dialect_.name)}));
    for (const auto& one : all) {
      if (one.id.empty() || !is_left_over(one.instance, options_.directory)) continue;
      auto removed = co_await fleet_->client.remove(one.id);
      if (!removed) {
        telemetry::log_warn("what a killed run has left stays",
                            {{"container", one.id}, {"why", removed.error().message()}});
      }
    }
    co_return co_await drop_left_trial_images(
        fleet_, [directory = options_.directory](const std::string& instance) {
          return is_left_over(instance, directory);
        });
  }

  // A profile's roots hold instead of those that the driver is configured with.
  ShareRules share_rules(const SandboxSpec& spec) const {
    return {spec.mount_roots.value_or(options_.mount_roots),
            spec.engine_socket ? "" : fleet_->client.line().address().text,
            spec.engine_socket ? std::string(kSocketInside) : "", spec.home};
  }

  Result<> add_socket(const SandboxSpec& spec, ContainerSpec& made) const {
    if (!spec.engine_socket) return {};
    const auto& address = fleet_->client.line().address();
    struct stat facts{};
    if (is_remote() || stat(address.text.c_str(), &facts) != 0) {
      return Error(Code::unsupported, std::string(dialect_.name) + " has no socket on this host");
    }
    made.engine_socket = address.text;
    made.socket_group = facts.st_gid;
    return {};
  }

  std::vector<std::string> own_labels() const {
    return {label(kLabelInstance, fleet_->instance), label(kLabelDriver, dialect_.name)};
  }

  bool is_trial(const std::string& id) const {
    return trials_->under_way().contains(id) || checkpoints_->under_way().contains(id);
  }

  std::string above() const { return options_.directory.substr(0, options_.directory.rfind('/')); }

  bool is_own(const ContainerState& found) const {
    return found.instance == fleet_->instance && found.driver == dialect_.name;
  }

  // Made when daemons called themselves by their directory, which another may have, too. Ours is
  // what the store knows, or has a directory here, by its id; nothing else of these is listed.
  bool is_formers(const ContainerState& found) const {
    return !former_.empty() && found.instance == former_ && found.driver == dialect_.name;
  }

  Result<> check_setup() const {
    if (malformed_) return *malformed_;
    const EngineAddress& address = fleet_->client.line().address();
    if (is_remote() && !dialect_.can_be_elsewhere) {
      return Error(Code::unsupported, std::string(dialect_.name) +
                                          " must be on this host, on a Unix socket, and not " +
                                          to_printable(address.text))
          .with_hint(
              "run atoll serve where the engine is, and name that daemon with ATOLL_URL; or set " +
              std::string(dialect_.variable) + "=unix:///path/to/socket");
    }
    TRY_OK(check_certificates(address));
    return check_places();
  }

  Result<> check_architecture(const ReadyImage& image) const {
    const std::string& theirs = image.facts.architecture;
    return is_remote() ? check_agent_runs(theirs, "image " + image.name)
                       : check_programs_run(theirs, image.name);
  }

  bool is_remote() const { return !fleet_->client.line().address().is_local(); }

  // Once. Podman takes a fifth of a second to tell it, which a single run does not wait for: it
  // asks the container, see start().
  Task<> learn_own_runtime() {
    const bool is_quick = dialect_.name == kDocker.name;
    if (own_runtime_ || (options_.ends_with_us && !is_quick)) co_return Result<>();
    CO_TRY(auto facts, co_await fleet_->client.facts());
    own_runtime_ = std::move(facts.default_runtime);
    co_return Result<>();
  }

  // It may put another kernel between.
  bool is_own_unknown() const { return own_runtime_ && !shares_the_kernel(*own_runtime_); }

  // "" = the engine's own.
  Task<KernelVerdict> judge_runtime(std::string name) {
    if (name.empty()) name = own_runtime_.value_or("");
    if (name.empty() || shares_the_kernel(name)) co_return KernelVerdict();
    co_return co_await trials_->judge_named(std::move(name));
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

  WantedImage image_of(const SandboxSpec& spec) const {
    return {.name = spec.image.empty() ? options_.image : spec.image,
            .pull = spec.pull,
            .template_id = spec.template_id,
            .tree = spec.root ? &spec.root->directory : nullptr,
            .on_progress = listeners(spec.on_progress),
            .give_up = spec.give_up};
  }

  // awaited at once
  Task<> give_image(const SandboxSpec& spec, ContainerSpec& made) {
    auto wanted = image_of(spec);
    if (!spec.snapshot.empty()) {
      // An image of its own, whatever it began with.
      wanted.pull = Pull::never;
      wanted.is_snapshot = true;
      wanted.template_id.clear();
      CO_TRY(wanted.name, co_await find_snapshot(spec.snapshot));
      // Had workspace and home been in memory, they would be archives.
      made.has_places = !files_->has(spec.snapshot);
    }
    begin_stage(spec.on_progress, "image");
    auto found = co_await supply_->get(std::move(wanted));
    // Fetching it is a stage of its own, and over.
    if (!found) begin_stage(spec.on_progress, "image");
    CO_TRY(const auto image, std::move(found));
    end_stage(spec.on_progress, "image", image.name + ", " + image.facts.id.substr(0, 19));
    made.image = image.name;
    made.image_id = image.facts.id;
    made.volumes = image.facts.volumes;
    CO_TRY_OK(check_architecture(image));
    co_return Result<>();
  }

  // The image of a snapshot; half of one is none.
  Task<std::string> find_snapshot(std::string id) {
    if (!images_ || !is_snapshot_id(id)) co_return Error(Code::not_found, "no snapshot " + id);
    auto found = co_await images_->check(id);
    if (!found && found.error().code() == Code::not_found)
      co_return Error(Code::not_found, std::string(dialect_.name) + " has no snapshot " + id);
    if (!found) co_return std::move(found).error();
    co_return snapshot_image(id);
  }

  EngineTraits traits() const {
    return {.is_remote = is_remote(),
            .limits_roots = limits_roots_.value_or(false),
            .keeps_snapshots = images_ != nullptr,
            .shows_directories = !options_.mount_roots.empty(),
            .loads_trees = static_cast<bool>(options_.archive_tree),
            .filters_calls = filters_calls_};
  }

  Task<std::unique_ptr<Sandbox>> start(std::string id, ContainerSpec made,
                                       std::unique_ptr<AgentWay> way, FirstWords words,
                                       const SandboxSpec& spec) {  // awaited at once
    const std::string container = container_name(id);
    CO_TRY_OK(way->open());
    auto created = co_await fleet_->client.create(container, to_json(made, dialect_));
    if (!created && created.error().code() == Code::unsupported && made.limits_root) {
      // Nobody has asked for the limit, and the storage has none to give.
      limits_roots_ = false;
      if (made.must_limit_root) co_return std::move(created).error().with("limiting the disk");
      made.limits_root = false;
      created = co_await fleet_->client.create(container, to_json(made, dialect_));
    }
    if (!created)
      co_return told_while_making(std::move(created).error(), made).with("making the container");
    if (made.limits_root) limits_roots_ = true;
    CO_TRY_OK(co_await fleet_->copy_agent(container));
    if (made.is_persistent && !made.has_places) {
      auto put = co_await fleet_->client.put_archive(container, "/", root_archive(made));
      if (!put) co_return std::move(put).error().with("making the workspace");
    }
    end_stage(
        spec.on_progress, "create",
        "container " + container +
            (made.network == Network::none ? ", net: loopback alone" : ", net: the engine's"));
    begin_stage(spec.on_progress, "boot");
    auto started = co_await fleet_->client.start(container);
    if (!started)
      co_return told_while_making(std::move(started).error(), made).with("starting the container");
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
    if (!made.runtime.empty() && state->runtime != made.runtime) {
      co_return Error(Code::unavailable, std::string(dialect_.name) + " has taken runtime " +
                                             to_printable(state->runtime) + " instead of " +
                                             made.runtime);
    }
    if (made.runtime.empty() && dialect_.picks_runtime && own_runtime_ && !state->runtime.empty() &&
        !shares_the_kernel(state->runtime) && state->runtime != *own_runtime_ &&
        dialect_.name == kDocker.name) {
      own_runtime_.reset();
      co_return Error(Code::unavailable, std::string(dialect_.name) + " has another runtime now: " +
                                             to_printable(state->runtime))
          .with_hint("try again: it is looked at anew");
    }
    if (!own_runtime_ && !dialect_.picks_runtime) {
      CO_TRY(own_runtime_, co_await fleet_->client.runtime_of(container));
      if (is_own_unknown()) co_return Error(Code::conflict, "the service's runtime is another");
    }
    CO_TRY_OK(check_shares(made.shares, state->pid));
    fleet_->live.insert_or_assign(id, spec.expires_at);
    fleet_->births[id] = ++fleet_->last_birth;
    way->expect(state->pid);
    auto sandbox = std::make_unique<ContainerSandbox>(fleet_, id, std::move(way), std::move(words));
    auto greeted = co_await sandbox->guest().greet();
    if (!greeted) co_return std::move(greeted).error().with("starting the agent");
    end_stage(spec.on_progress, "boot",
              made.runtime.empty() ? "the agent answers" : "the agent answers, in " + made.runtime);
    co_return std::unique_ptr<Sandbox>(std::move(sandbox));
  }

  const Dialect& dialect_;
  EngineDriverOptions options_;
  std::shared_ptr<Fleet> fleet_;
  std::shared_ptr<ImageSupply> supply_;
  std::shared_ptr<KernelTrials> trials_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::optional<Error> malformed_;          // the address
  std::string former_;                      // an earlier instance; "" = there was none
  bool has_looked_ = false;                 // for what killed runs have left
  std::optional<std::string> own_runtime_;  // the engine's, once it is known
  // Children of a fork that nobody has attached to yet. An agent that is let go of calls again a
  // tenth of a second later, and whoever forks would wait for that.
  std::map<std::string, std::unique_ptr<Sandbox>> newborn_;
  // Whether the engine's storage limits the root of a container; what a container has shown counts.
  std::optional<bool> limits_roots_;
  std::optional<bool> filters_calls_;  // whether the engine does, once it has told
  // Null where nothing is kept.
  std::unique_ptr<SnapshotImages> images_;
  std::unique_ptr<FileSnapshots> files_;
};

}  // namespace

std::unique_ptr<Driver> make_engine_driver(asio::any_io_executor executor, const Dialect& dialect,
                                           EngineDriverOptions options) {
  return std::make_unique<EngineDriver>(std::move(executor), dialect, std::move(options));
}

}  // namespace atl::container
