#include "drivers/extension/extension_driver.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/ids.h"
#include "base/text.h"
#include "drivers/extension/extension_sandbox.h"
#include "drivers/extension/rights.h"
#include "telemetry/log.h"

namespace atl::extension {
namespace {

constexpr Millis kLookAgain{500};

std::string kernel_name() {
  utsname name{};
  uname(&name);
  return std::string(name.release) + " " + name.version;
}

// What ended while nobody listened.
Task<> compare_with_list(std::shared_ptr<Fleet> fleet) {
  const auto known = fleet->live;
  CO_TRY(const auto listed, co_await fleet->client.list());
  std::set<std::string> there;
  for (const auto& one : listed) there.insert(one.id);
  for (const auto& [id, life] : known) {
    if (!there.contains(id)) fleet->note_end(id, life.birth, std::nullopt);
  }
  co_return Result<>();
}

// Until the connection ends.
Task<> hear_events(std::shared_ptr<Fleet> fleet) {
  CO_TRY(const auto stream, co_await fleet->client.events());
  if (fleet->closing.fired() || fleet->live.empty()) co_return Result<>();
  fleet->events = stream.get();
  auto compared = co_await compare_with_list(fleet);
  Result<std::string> line = std::string();
  while (compared && line && !fleet->live.empty()) {
    line = co_await stream->read_line();
    if (!line) break;
    auto event = parse_event(*line);
    if (!event) {
      compared = std::move(event).error();
      break;
    }
    // What is told late may be about one that was made anew since, under the same id.
    const uint64_t birth = fleet->birth_of(event->ended);
    auto listed = co_await fleet->client.list();
    if (!listed) break;
    const auto still = std::ranges::find(*listed, event->ended, &ListedSandbox::id);
    if (still == listed->end()) fleet->note_end(event->ended, birth, event->exit_code);
  }
  fleet->events = nullptr;
  co_return compared;
}

// As long as there is a sandbox.
Task<> listen(std::shared_ptr<Fleet> fleet) {
  while (!fleet->closing.fired() && !fleet->live.empty()) {
    auto heard = co_await hear_events(fleet);
    if (fleet->closing.fired() || fleet->live.empty()) break;
    if (!heard) {
      telemetry::log_debug("an extension tells nothing",
                           {{"extension", fleet->client.name()}, {"why", heard.error().message()}});
    }
    auto closing = co_await fleet->closing.wait_for(kLookAgain);
    if (closing || closing.error().code() == Code::cancelled) break;
  }
  fleet->is_listening = false;
  co_return Result<>();
}

void start_listening(const std::shared_ptr<Fleet>& fleet) {
  if (std::exchange(fleet->is_listening, true)) return;
  spawn(fleet->executor, listen(fleet));
}

// Until what a failed creation may have left is gone.
Task<> remove_later(std::shared_ptr<Fleet> fleet, std::string id) {
  for (;;) {
    auto closing = co_await fleet->closing.wait_for(kLookAgain);
    if (closing || closing.error().code() == Code::cancelled) co_return Result<>();
    auto destroyed = co_await fleet->client.destroy(id);
    if (destroyed) co_return Result<>();
  }
}

Error cannot(const std::string& name, std::string_view what) {
  return Error(Code::unsupported, "extension " + name + " cannot " + std::string(what));
}

class ExtensionDriver final : public Driver {
 public:
  ExtensionDriver(const asio::any_io_executor& executor, ExtensionOptions options)
      : options_(std::move(options)), fleet_(std::make_shared<Fleet>(executor, options_.grant)) {
    fleet_->tell = [this](std::string id, EndedBy why) {
      if (listener_ != nullptr) listener_->on_ended(*this, std::move(id), why);
    };
  }

  ~ExtensionDriver() override {
    fleet_->tell = nullptr;
    fleet_->closing.fire();
    if (fleet_->events != nullptr) fleet_->events->close();
    if (!options_.ends_with_us || options_.identity.empty()) return;
    unlink(options_.identity.c_str());
    rmdir(options_.identity.substr(0, options_.identity.rfind('/')).c_str());
  }

  std::string_view name() const override { return fleet_->client.name(); }

  Isolation strongest(std::string_view runtime) const override {
    if (!runtime.empty()) return Isolation::none;
    const Grant& grant = fleet_->client.grant();
    return std::min(grant.trust_isolation, grant.manifest.capabilities.isolation);
  }

  bool is_somebody_elses() const override { return true; }

  Task<Capabilities> probe() override {
    const auto fleet = fleet_;
    CO_TRY_OK(check_setup());
    CO_TRY(const auto claim, co_await fleet->client.hello());
    fleet->can = to_capabilities(claim, fleet->client.grant().trust_isolation);
    const auto& listener = fleet->client.listener();
    const auto rights = find_rights({listener.pid, listener.uid, listener.gid});
    if (rights && rights->are_too_many()) fleet->can->not_protected.push_back(warning_of(*rights));
    limits_memory_ = claim.limits.memory == Limit::enforced;
    co_return *fleet->can;
  }

  Task<std::string> explain(SandboxSpec spec) override {
    CO_TRY_OK(co_await prepare());
    CO_TRY_OK(check_spec(spec));
    const Grant& grant = fleet_->client.grant();
    std::string text = "made by      extension " + grant.manifest.name + " " +
                       to_printable(grant.manifest.version) + ", on " + grant.manifest.socket +
                       "\nisolation    " + std::string(json::name_of(can().isolation)) +
                       ", as far as the operator believes it";
    text += "\nnetwork      ";
    text += can().network == NetworkControl::deny ? "none, says the extension"
                                                  : "whatever the extension gives";
    co_return text + "\nenvironment  goes to the agent, and not to the extension\n";
  }

  Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) override {
    if (!is_sandbox_id(spec.id)) co_return Error(Code::invalid_argument, "malformed sandbox id");
    CO_TRY_OK(co_await prepare());
    CO_TRY_OK(check_spec(spec));
    CO_TRY(auto words, make_words(spec));
    const auto fleet = fleet_;
    Call call;
    call.id = spec.id;
    call.instance = fleet->identity.instance;
    call.agent = options_.agent;
    if (!spec.image.empty()) call.image = spec.image;
    call.resources = to_asked(spec.resources);
    // A handle of the same id is somebody's, who must not be disturbed.
    if (fleet->live.contains(spec.id))
      co_return Error(Code::already_exists, "sandbox " + spec.id + " exists already");
    auto made = co_await fleet->client.create(std::move(call));
    if (!made && made.error().code() == Code::already_exists) co_return std::move(made).error();
    if (!made) co_return co_await undo(fleet, spec.id, std::move(made).error());
    fleet->note_birth(spec.id, spec.expires_at);
    auto sandbox = std::make_unique<ExtensionSandbox>(fleet, spec.id, std::move(words));
    auto greeted = co_await sandbox->guest().greet();
    if (!greeted)
      co_return co_await undo(fleet, spec.id,
                              std::move(greeted).error().with("starting the agent"));
    start_listening(fleet);
    co_return std::move(sandbox);
  }

  Task<std::unique_ptr<Sandbox>> attach(std::string id) override {
    if (!is_sandbox_id(id)) co_return Error(Code::not_found, "no sandbox " + to_printable(id));
    CO_TRY_OK(co_await prepare());
    const auto fleet = fleet_;
    CO_TRY(const auto listed, co_await fleet->client.list());
    const auto found = std::ranges::find_if(listed, [&](const ListedSandbox& one) {
      return one.id == id && one.instance == fleet->identity.instance;
    });
    if (found == listed.end())
      co_return Error(Code::not_found,
                      "extension " + fleet->client.name() + " has no sandbox " + id);
    auto sandbox = std::make_unique<ExtensionSandbox>(fleet, id, std::nullopt);
    const bool was_live = fleet->live.contains(id);
    if (!was_live) fleet->note_birth(id, Micros(0));
    // A frozen agent cannot answer.
    Result<> greeted;
    if (!found->paused.value_or(false)) greeted = co_await sandbox->guest().greet();
    if (!greeted) {
      if (!was_live) fleet->forget(id);
      co_return std::move(greeted).error();
    }
    start_listening(fleet);
    co_return std::move(sandbox);
  }

  Task<std::vector<std::string>> list() override {
    CO_TRY_OK(get_own_identity());
    const auto fleet = fleet_;
    CO_TRY(const auto listed, co_await fleet->client.list());
    std::set<std::string> ids;  // one that is told twice is one
    for (const auto& one : listed) {
      if (one.instance == fleet->identity.instance) ids.insert(one.id);
    }
    co_return std::vector<std::string>(ids.begin(), ids.end());
  }

  Task<> destroy_orphan(std::string id) override {
    if (!is_sandbox_id(id)) co_return Error(Code::invalid_argument, "malformed sandbox id");
    const auto fleet = fleet_;
    // Others may use the same extension, and theirs are not ours to end.
    CO_TRY(const auto ids, co_await list());
    if (std::ranges::find(ids, id) == ids.end()) co_return Result<>();
    fleet->forget(id);
    co_return co_await fleet->client.destroy(std::move(id));
  }

 private:
  static Task<std::unique_ptr<Sandbox>> undo(std::shared_ptr<Fleet> fleet, std::string id,
                                             Error why) {
    fleet->forget(id);
    auto destroyed = co_await fleet->client.destroy(id);
    if (!destroyed) {
      spawn(fleet->executor, remove_later(fleet, id));
      why = std::move(why).with("it failed, and its remains could not be removed yet");
    }
    co_return why;
  }

  Result<> check_setup() const {
    if (!options_.identity.empty() && access(options_.agent.c_str(), X_OK) == 0) return {};
    return Error(Code::unavailable, "atoll-agent is not installed beside this program")
        .with_hint("install Atoll completely, or name its folder: ATOLL_LIBEXEC");
  }

  // Made when the first one needs it: most never do.
  Result<> get_own_identity() {
    TRY_OK(check_setup());
    if (!fleet_->identity.instance.empty()) return {};
    TRY(fleet_->identity, get_identity(options_.identity));
    return {};
  }

  Task<> prepare() {
    CO_TRY_OK(get_own_identity());
    if (!fleet_->can) CO_TRY_OK(co_await probe());
    co_return Result<>();
  }

  // After prepare().
  const Capabilities& can() const { return *fleet_->can; }

  // A sandbox is never weaker than asked: what the extension has no words for, or does not claim,
  // is refused before it is asked.
  Result<> check_spec(const SandboxSpec& spec) const {
    const std::string& name = fleet_->client.name();
    if (spec.workspace || !spec.mounts.empty()) return cannot(name, "show directories of the host");
    if (spec.root || !spec.template_id.empty()) return cannot(name, "use a root file system");
    if (!spec.image.empty() && !can().images) return cannot(name, "use an image");
    if (!spec.runtime.empty()) return cannot(name, "choose a runtime");
    if (spec.network != Network::none || spec.engine_socket)
      return cannot(name, "open a network, or a socket of an engine's");
    if (!spec.home.empty()) return cannot(name, "make a home at " + spec.home);
    if (!spec.snapshot.empty()) return cannot(name, "start from a snapshot");
    if (spec.persistence != Persistence::ephemeral) return cannot(name, "keep its root");
    const Resources& asked = spec.resources;
    if (asked.cpu && can().limits.cpu == Limit::none) return cannot(name, "limit processors");
    if (asked.pids && can().limits.pids == Limit::none) return cannot(name, "limit processes");
    if (asked.disk_mb && can().limits.disk == Limit::none) return cannot(name, "limit the disk");
    const Sharing sharing = asked.sharing.value_or(Sharing::shared);
    if (asked.cpu_weight || (sharing != Sharing::shared && sharing != Sharing::limited))
      return cannot(name, "share out processors by weight");
    return {};
  }

  Result<container::FirstWords> make_words(const SandboxSpec& spec) const {
    container::ContainerSpec made;
    made.memory_bytes = static_cast<uint64_t>(spec.resources.memory_mb.value_or(0)) << 20;
    auto words = container::make_first_words(spec, made, options_.ends_with_us);
    words.token = fleet_->identity.token_for(spec.id);
    // Where nobody limits the whole, each process is.
    if (made.memory_bytes > 0 && !limits_memory_)
      words.facts.rlimits.push_back({RLIMIT_DATA, made.memory_bytes});
    // A level that is believed and can be looked at is looked at: an agent that finds itself in
    // this kernel serves nobody. Of another machine's kernel nothing is known.
    if (can().isolation >= Isolation::sentry && can().placement == Placement::host)
      words.facts.outer_kernel = kernel_name();
    TRY_OK(words.encoded(Micros(0)));
    return words;
  }

  ExtensionOptions options_;
  std::shared_ptr<Fleet> fleet_;
  bool limits_memory_ = false;  // of a whole sandbox
};

}  // namespace

std::unique_ptr<Driver> make_extension_driver(asio::any_io_executor executor,
                                              ExtensionOptions options) {
  return std::make_unique<ExtensionDriver>(executor, std::move(options));
}

}  // namespace atl::extension
