// The engine: the life of every sandbox, from the journalled intent to the last trace swept away.
//
// Lives on the core loop and needs no locks. Each change of state is journalled in the store before
// it is acted on, so that after `kill -9` recover() finds out what is really there, takes it up,
// and finishes or undoes what was half done.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "core/access.h"
#include "core/admission_options.h"
#include "core/circuit_breaker.h"
#include "core/driver_health.h"
#include "core/pool_view.h"
#include "core/preparation.h"
#include "core/routing_options.h"
#include "core/session_view.h"
#include "core/snapshot_view.h"
#include "driver/driver.h"
#include "policy/ending.h"
#include "telemetry/stages.h"

namespace atl {

namespace store {
class Store;
}
namespace telemetry {
class Metrics;
}
namespace policy {
class Judge;
class Profiles;
struct Startup;
}  // namespace policy
struct RoutePlan;

class EventLog;
class RunStop;

enum class State : uint8_t {
  pending,
  starting,
  running,
  paused,
  stopping,
  stopped,
  destroyed,
  failed
};
BOOST_DESCRIBE_ENUM(State, pending, starting, running, paused, stopping, stopped, destroyed, failed)

// How long a sandbox is there.
enum class Lifecycle : uint8_t {
  session,     // until its time is up
  ephemeral,   // as long as its run: whatever is left of it after a restart is destroyed
  pooled,      // nobody's yet: it waits in a pool, and its tenant is ""
  workspace,   // the same as `session`, and sessions share it: told, and never stored
  persistent,  // as long as the server, whose end is the only one that comes by itself
};
BOOST_DESCRIBE_ENUM(Lifecycle, session, ephemeral, pooled, workspace, persistent)

// Why a sandbox stands still or is stopped though nobody asked for it: whoever uses it next wakes
// it.
enum class Rest : uint8_t { none, idle, expired };
BOOST_DESCRIBE_ENUM(Rest, none, idle, expired)

// How a sandbox does, beside its state.
enum class Health : uint8_t {
  ok,
  unresponsive,  // it runs, and does not answer
  recovering,    // it has failed, and is about to be recreated
  failed,        // it has failed, and stays so
};
BOOST_DESCRIBE_ENUM(Health, ok, unresponsive, recovering, failed)

// How long a stage of a request took; in every answer, and after a failure in the error.
using Stage = telemetry::Stage;

// What a command gets that does not say otherwise.
struct ExecDefaults {
  std::string user;   // "" = the driver's
  std::string cwd;    // "" = the workspace
  Millis timeout{0};  // zero = none

  bool operator==(const ExecDefaults&) const = default;
};

struct CreateRequest {
  std::string driver;                        // "" = the router's choice
  std::string run_mode;                      // a named route (core/run_mode.h); "" = none
  std::optional<policy::Strategy> strategy;  // nullopt = the profile's, else the daemon's
  std::string profile;                       // NAME[@VERSION]; "" and "none" = none
  std::string name;  // "" = none; unique per tenant, and creating the same name again gives the
                     // same sandbox
  std::string user_id;
  std::optional<std::chrono::seconds> ttl;
  std::optional<std::chrono::seconds> idle;
  // Absent: it ends. Otherwise it is kept, and woken by whoever uses it next.
  std::optional<OnEnd> on_expire;
  std::optional<OnEnd> on_idle;
  std::optional<std::chrono::seconds> keep;  // for how long after its time to live
  std::optional<OnFailure> on_failure;       // absent: it stays failed
  // Of one that sessions hold (core/sessions.h): who shares it, and what becomes of it when the
  // last one lets go.
  std::optional<SessionScope> scope;
  std::optional<OnEnd> on_last;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> env;
  Resources resources;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::map<std::string, std::string> driver_labels;  // which the driver must have
  std::optional<HostDirectory> workspace;
  std::vector<HostDirectory> mounts;
  std::optional<HostDirectory> root;  // the root file system; always copied on write
  std::string template_name;          // NAME:TAG that `root` is of; "" = of none
  // Keeps the template's tree until a sandbox has it.
  std::shared_ptr<const void> root_hold;
  std::string template_id;  // see SandboxSpec
  // Of a template: the numbers of its users, by name.
  std::map<std::string, int64_t> root_users;
  std::string image;
  Pull pull = Pull::missing;
  std::string runtime;
  // Persistence::checkpoint is for those that have a name: what ends is kept first, and the next
  // one of the name begins with it (core/keep.cc).
  Persistence persistence = Persistence::ephemeral;
  std::optional<SnapshotKind> checkpoint;  // of what; absent = files
  // Life::persistent takes a profile that says so, or an administrator.
  std::optional<Life> lifecycle;
  // Absent: as the profile says, else none. `bridge` takes a profile that says so.
  std::optional<Network> network;
  // What it starts from, by id or name; "" = from the beginning. Pins the driver that has it, and
  // what is absent above is as it was with the sandbox that it is of.
  std::string snapshot;
  ExecDefaults defaults;
  std::string warm;                   // of a run: see SandboxSpec
  std::vector<NewFile> files;         // in it before anybody gets it
  std::optional<SetupCommand> setup;  // of a run
  // How long it may wait for its turn where there is no room; nullopt = as the engine is set.
  std::optional<Millis> queue_timeout;
  std::shared_ptr<RunStop> stop;  // gives that wait up; null = nobody does
  // What only a profile or a run mode says (core/profile_use.h, core/run_mode.h).
  std::vector<std::string> preferred;                // drivers, in this order
  std::optional<std::vector<std::string>> fallback;  // then these; nullopt = any other
  bool may_persist = false;                          // Life::persistent is for everybody
  bool cuts_network = false;                         // only where there is no network
  bool engine_socket = false;                        // see SandboxSpec, as the next
  std::optional<std::vector<std::string>> mount_roots;
  std::string home;
  std::shared_ptr<const policy::Startup> startup;  // done before anybody gets it; null = nothing
};

// The same key with the same request gives the same sandbox, and Code::conflict once that one has
// ended; with another request, Code::idempotency_mismatch.
struct Idempotency {
  std::string key;
  std::string request_hash;
};

struct SandboxView {
  std::string id;
  std::string name;
  std::string tenant;
  std::string owner;  // the Caller::subject that made it
  State state = State::pending;
  Lifecycle lifecycle = Lifecycle::session;
  std::string driver;
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
  std::string run_mode;
  std::string profile;
  std::string user_id;
  std::map<std::string, std::string> labels;
  Resources resources;
  ExecDefaults defaults;
  std::string template_name;  // "" = none
  std::string image;          // the same
  std::string runtime;
  Persistence persistence = Persistence::ephemeral;
  std::optional<SnapshotKind> checkpoint;  // what is kept of it when it ends; nullopt = nothing
  Network network = Network::none;
  std::string snapshot;  // that it was made from; "" = none
  int64_t resets = 0;    // how often it was made anew
  WallTime created_at{};
  std::optional<WallTime> expires_at;
  std::optional<std::chrono::seconds> idle;
  OnEnd on_expire = OnEnd::kill;
  OnEnd on_idle = OnEnd::kill;
  std::optional<WallTime> kept_until;  // nothing of it is left then; nullopt: with expires_at
  Rest rest = Rest::none;
  OnFailure on_failure = OnFailure::fail;
  Health health = Health::ok;
  int64_t recoveries = 0;  // how often it was recreated because it had failed
  WallTime last_active_at{};
  std::string failure;  // why it failed, when it did
  std::vector<Stage> stages;
  std::string pool;                      // that it came from, or waits in; "" = none
  bool is_parked = false;                // it waits there, and is nobody's
  bool was_there = false;                // what create() found under its name, rather than made
  std::optional<size_t> queue_position;  // 1 is the next; of one that waits to be made
};

// How a sandbox began, step by step; known after its end, too, for as long as the store remembers
// it.
struct StartRecord {
  std::string id;
  std::string name;
  std::string driver;
  State state = State::pending;
  WallTime created_at{};
  std::optional<WallTime> ended_at;
  std::string failure;  // why it failed or ended; "" = it did not
  std::vector<Stage> stages;
};

struct ListFilter {
  std::string tenant;  // "" = the caller's own, "*" = all; others than one's own are an admin's
  std::optional<State> state;
  std::string driver;
  std::string name;
  std::string user_id;
  std::map<std::string, std::string> labels;
  size_t limit = 100;  // at most 1,000
  std::string cursor;  // from the page before
};

struct SandboxPage {
  std::vector<SandboxView> sandboxes;
  std::string next_cursor;  // "" = that was all
};

struct DriverView {
  std::string name;
  std::string summary;
  bool available = false;
  std::string unavailable_because;  // and what would help
  std::string hint;
  Capabilities capabilities;
  DriverCondition health = DriverCondition::unknown;
  std::string last_failure;  // of its probe, while it is failing
  Circuit circuit = Circuit::closed;
  Millis circuit_opens_for{0};  // while it is open
  std::optional<double> measured_start_ms;
  int measured_starts = 0;               // how many creates that is of
  std::optional<double> price_per_hour;  // of one without limits; absent = not known
  int64_t weight = 1;
  policy::DriverLabels labels;
  policy::Quota capacity;  // what there is no limit of is absent
  policy::Amounts used;    // by sandboxes that are somebody's
};

// What a sandbox changed in the host directories that it has copies of.
struct Changes {
  struct Copy {
    std::string path;  // as the sandbox sees it
    std::string host_path;
  };
  std::vector<Copy> copies;
  std::vector<FileChange> changes;
  WallTime created_at{};  // of the sandbox: what changed on the host later it may not have seen
};

// What a driver would do about a request.
struct Explanation {
  std::string driver;
  Isolation isolation = Isolation::none;
  std::string plan;  // text for people, a decision per line
};

// What waits to be done, for GET /metrics.
struct QueueLengths {
  size_t calls = 0;      // under way
  size_t turns = 0;      // calls that wait for another one on the same sandbox
  size_t admission = 0;  // creates and runs that wait for their turn
  size_t cleanup = 0;    // sandboxes whose run is over
  size_t store = 0;      // writes that are not committed yet
  // Sandboxes, by Health.
  size_t unresponsive = 0;
  size_t recovering = 0;
  size_t failed = 0;
};

struct RunResult {
  ExecResult exec;
  std::string driver;
  Isolation isolation = Isolation::none;
  std::vector<Stage> stages;
};

// Holds a sandbox's guest for the length of one call. While one is held the sandbox counts as
// active (its idle clock stands still), and its memory stays valid even if somebody destroys the
// sandbox meanwhile.
class GuestLease {
 public:
  // Names of what is held: they live as long.
  GuestLease(std::shared_ptr<void> hold, Guest& guest, const std::string& driver,
             const std::string& sandbox)
      : hold_(std::move(hold)), guest_(&guest), driver_(&driver), sandbox_(&sandbox) {}
  Guest* operator->() const { return guest_; }
  Guest& operator*() const { return *guest_; }
  const std::string& driver() const { return *driver_; }
  const std::string& sandbox() const { return *sandbox_; }

 private:
  std::shared_ptr<void> hold_;
  Guest* guest_;
  const std::string* driver_;
  const std::string* sandbox_;
};

// Told what a run does, as it does it. An error from either call ends the run at once: nobody is
// listening any more.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // stdin and signals may also come by other ways, through guest() and the process's id.
  virtual Task<> on_started(SandboxView view, std::shared_ptr<Process> process) = 0;
  // Everything that Process::next() gives, the ExitStatus last. The process waits while this does.
  virtual Task<> on_event(ProcessEvent event) = 0;
};

// Lets whoever waits for a run give it up, at any moment: its sandbox is destroyed at once and
// run() returns Code::cancelled. Cancelling the coroutine that waits does the same. A create that
// waits for its turn is given up; one that is being made is made.
class RunStop final {
 public:
  void stop() {
    stopped_ = true;
    if (on_stop_) std::exchange(on_stop_, nullptr)();
  }
  bool stopped() const { return stopped_; }
  // False as long as its sandbox is being made, and nothing of the command can run.
  bool is_made() const { return is_made_; }

 private:
  friend class Admission;
  friend class Runs;
  bool stopped_ = false;
  bool is_made_ = false;
  std::function<void()> on_stop_;
};

// What becomes of the files of a sandbox that is destroyed.
enum class Remains : uint8_t {
  as_asked,   // kept first where its Persistence says so; if that fails nothing is destroyed
  discarded,  // nothing is kept
};

enum class Ending : uint8_t {
  leave_sandboxes,  // for the next daemon
  end_sandboxes,
};

// When drivers over servers of others (Driver::is_somebody_elses) are probed: with all, or only
// when no other driver will do, so that a single run need not wait for them.
enum class Asking : uint8_t { at_once, when_needed };

// Whether sandboxes are made ahead: by a daemon, whose they are, and not for a single run.
enum class Pooling : uint8_t { off, on };
// Whether what a start has installed is kept for the next one: by a daemon, the same.
enum class KeepLayers : uint8_t { no, yes };

struct EngineOptions {
  std::chrono::seconds default_ttl{3600};
  std::chrono::seconds longest_ttl{7 * 24 * 3600};
  // How long a sandbox is kept that stops or pauses at its end, unless the request says.
  std::chrono::seconds default_keep{24 * 3600};
  // How often each sandbox is asked whether it is there; see core/pulse.h. Zero = never.
  std::chrono::seconds pulse_every{30};
  Millis pulse_patience{10'000};
  std::chrono::seconds sweep_every{30};
  size_t most_sandboxes = 10'000;
  size_t most_sandboxes_per_tenant = 10'000;
  size_t most_snapshots_per_tenant = 1'000;
  // What the store remembers of sandboxes that have ended.
  size_t most_history = 10'000;
  std::chrono::hours longest_history{7 * 24};
  // What others than administrators must at least be given; where commands would be as good as the
  // daemon itself, nobody else may have them.
  Isolation members_floor = Isolation::none;
  Asking asking = Asking::at_once;
  std::string boot_id;  // "" = as the kernel says
  // What a run leaves is cleared away when no other has ended for so long.
  Micros run_pause = Millis(5);
  std::shared_ptr<const policy::Profiles> profiles = nullptr;  // null = those that are built in
  Pooling pooling = Pooling::off;
  KeepLayers layers = KeepLayers::no;
  size_t most_parked = 256;  // in all pools
  // Gives the request a template's tree as its root; empty where no templates are kept.
  std::function<Result<>(CreateRequest& request, const std::string& name)> open_template = {};
  // The same of the version with this id, whatever its name stands for now.
  std::function<Result<>(CreateRequest& request, const std::string& id)> reopen_template = {};
  // Whether the template with this id is kept. Empty: nobody knows, and drivers keep what they
  // have.
  std::function<bool(const std::string& id)> has_template = {};
  AdmissionOptions admission = {};
  std::shared_ptr<policy::Judge> judge = nullptr;  // asked before something is made; null = nobody
  RoutingOptions routing = {};
};

// What a tenant may have, and has.
struct TenantUse {
  policy::Quota quota;
  policy::Amounts used;
  size_t at_once = 0;  // creates and runs under way
  size_t waiting = 0;  // for their turn
};

// A driver as wiring hands it over, in the order of preference.
struct EngineDriver {
  std::unique_ptr<Driver> driver;
  std::string summary;
};

class Engine final : private DriverListener {
 public:
  // `store`, `metrics` and `clock` outlive the engine. Calls go on to their end even if whoever
  // waits for them is cancelled; so destroy the engine after shut_down(), or when its loop runs no
  // more.
  Engine(asio::any_io_executor executor, store::Store& store, std::vector<EngineDriver> drivers,
         telemetry::Metrics& metrics, const Clock& clock, EngineOptions options);
  ~Engine() override;

  // Probes the drivers, adopts what earlier daemons left, finishes or undoes half-done intents,
  // then keeps the reaper and the sweeper running. Call once, before anything else.
  Task<> recover();
  // Stops the reaper and the sweeper, ends runs that are under way and waits for everything else
  // that is; afterwards nothing new begins.
  Task<> shut_down(Ending ending);

  // The same name with the same request gives the same sandbox while that one lives, and creates
  // that come at the same time join; with another request it is Code::already_exists, telling what
  // differs. The values of `env` are nowhere but in memory and in the sandbox: after a restart of
  // the daemon only their names are compared.
  Task<SandboxView> create(Caller caller, CreateRequest request,
                           std::optional<Idempotency> idempotency);
  // What create() would do, on the driver that it would begin with; nothing is made or journalled.
  Task<Explanation> explain(Caller caller, CreateRequest request);
  // Which way create() would go, and why; `as` is a driver to compare with, or "".
  Task<RoutePlan> plan(Caller caller, CreateRequest request, std::string as);
  const policy::Profiles& profiles() const;
  // By id or by name.
  Result<SandboxView> get(const Caller& caller, std::string_view id_or_name);
  Result<SandboxPage> list(const Caller& caller, const ListFilter& filter);
  // Whose a live sandbox is, by id; nullopt when there is none.
  std::optional<std::string> find_tenant(std::string_view id) const;
  // How often a live sandbox was reset, by id; zero when there is none.
  int64_t resets_of(std::string_view id) const;
  size_t count_of(const std::string& tenant) const;
  TenantUse use_of(const std::string& tenant) const;
  // Whether a sandbox that has not ended has this directory of the host as its root.
  bool has_root(std::string_view host_path) const;
  // Whether one is there that may not end before it is kept.
  bool has_kept() const;
  const EngineOptions& options() const;
  // From now on nobody is admitted, and those who wait for their turn are told so.
  void close_admission();
  // Goes before everything that waits for the sandbox's turn. Where the driver does not answer, the
  // sandbox stays in State::stopping and the sweeper goes on trying.
  Task<> destroy(Caller caller, std::string id_or_name, Remains remains = Remains::as_asked);

  Task<SandboxView> stop(Caller caller, std::string id_or_name);
  // Both give the driver the sandbox's environment as far as this daemon knows it. An empty
  // SandboxSpec::env, and SandboxSpec without host directories, mean to a driver's recreate(): keep
  // what you have.
  Task<SandboxView> start(Caller caller, std::string id_or_name);
  Task<SandboxView> recreate(Caller caller, std::string id_or_name);
  // The time to live counts from now.
  Task<SandboxView> renew(Caller caller, std::string id_or_name,
                          std::optional<std::chrono::seconds> ttl);
  Task<SandboxView> pause(Caller caller, std::string id_or_name);
  Task<SandboxView> resume(Caller caller, std::string id_or_name);
  // Made anew under its id: no process, file, environment or token of before is left. With `env` as
  // its environment. Code::unsupported where that cannot be promised.
  Task<SandboxView> reset(Caller caller, std::string id_or_name,
                          std::map<std::string, std::string> env);
  // Returns once it was read back and is known on the disk.
  Task<SnapshotView> snapshot(Caller caller, std::string id_or_name, SnapshotAsk ask);
  // By id or by name, those that the caller sees; `sandbox` "" = of all, those that have ended,
  // too.
  Result<SnapshotView> get_snapshot(const Caller& caller, std::string_view id_or_name);
  std::vector<SnapshotView> list_snapshots(const Caller& caller, std::string_view sandbox);
  // Nobody sees it afterwards. What it takes is given back when no sandbox needs it any more.
  Task<> drop_snapshot(Caller caller, std::string id_or_name);
  Task<std::vector<SandboxView>> fork(Caller caller, std::string id_or_name, size_t count,
                                      SnapshotKind kind = SnapshotKind::disk);
  Task<SandboxView> resize(Caller caller, std::string id_or_name, Resources resources);

  // With the sandbox's own user and working directory where the request names none.
  // Code::unsupported, naming drivers that can, when its driver knows no such user.
  Result<ExecRequest> complete(const Caller& caller, std::string_view id_or_name,
                               ExecRequest request);
  // Wakes the sandbox first if it rests and the caller may use it; calls that come at the same time
  // join. Code::conflict when it does not run and does not rest.
  Task<GuestLease> use(Caller caller, std::string id_or_name);
  // Fails with Code::conflict unless the sandbox runs.
  Result<GuestLease> guest(const Caller& caller, std::string_view id_or_name);
  // By id or by name while it lives, afterwards by id.
  Task<StartRecord> start_record(Caller caller, std::string id_or_name);
  // At `path` and below; "" = everywhere. See Guest::changes.
  Task<Changes> changes(Caller caller, std::string id_or_name, std::string path);
  Task<SandboxStats> stats(Caller caller, std::string id_or_name);

  // Create, exec and destroy in one call; the sandbox is gone when it returns, whatever happened.
  // Up to `keep` bytes of each stream are kept.
  Task<RunResult> run(Caller caller, CreateRequest request, ExecRequest exec,
                      std::string stdin_bytes, size_t keep,
                      std::shared_ptr<RunStop> stop = nullptr);
  // The same, with the output going to `observer`; the result has none.
  Task<RunResult> run(Caller caller, CreateRequest request, ExecRequest exec,
                      std::string stdin_bytes, std::shared_ptr<RunObserver> observer,
                      std::shared_ptr<RunStop> stop = nullptr);

  // Pools of sandboxes that are made ahead (pool_view.h, pool_keeper.h); for administrators.
  std::vector<PoolView> pools() const;
  Result<PoolView> get_pool(std::string_view name) const;
  Task<PoolView> create_pool(std::string name, PoolSpec spec);
  Task<PoolView> change_pool(std::string name, policy::PoolAsk ask);
  // What is parked is ended, and the pool filled anew.
  Result<PoolView> drain_pool(std::string_view name);
  Task<> remove_pool(std::string name);
  // What to create() to get a sandbox of the pool; anybody may ask.
  Result<CreateRequest> pool_request(std::string_view name) const;
  // Joins the sandbox of the scope's key, or makes it; see core/sessions.h.
  Task<SessionView> open_session(Caller caller, SessionAsk ask,
                                 std::optional<CreateRequest> request);
  Result<SessionView> get_session(const Caller& caller, std::string_view id);
  std::vector<SessionView> list_sessions(const Caller& caller);
  Task<SessionView> renew_session(Caller caller, std::string id,
                                  std::optional<std::chrono::seconds> ttl);
  Task<> close_session(Caller caller, std::string id);

  std::vector<DriverView> drivers() const;
  // Probes those that were not asked yet.
  Task<> ask_rest();
  // Probes all that were, as the timer does every RoutingOptions::probe_every.
  Task<> probe_drivers();
  // What becomes of sandboxes, of all tenants.
  EventLog& events();
  QueueLengths queue_lengths() const;
  // Of the store, for as long as that exists; what drivers mark their objects with. After
  // recover().
  const std::string& instance_id() const;

  // What the timers call: ends what is due, makes the world and the records agree, and does what
  // drivers that are back could not do. For tests and for operators who will not wait.
  Task<> reap();
  Task<> sweep();
  void tend_pools();
  // Asks those whose turn it is whether they are there, and returns when all have answered or had
  // their time.
  Task<> feel_pulses();
  Task<> end_sessions();  // those that nobody has renewed
  Task<> catch_up();
  // Templates have gone: drivers let what they have of them go, and nobody waits for that.
  void forget_templates();

 private:
  void on_ended(const Driver& by, std::string id, EndedBy why) override;

  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with calls that are under way
};

}  // namespace atl
