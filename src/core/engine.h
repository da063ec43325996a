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
#include "core/preparation.h"
#include "driver/driver.h"
#include "telemetry/stages.h"

namespace atl {

namespace store {
class Store;
}
namespace telemetry {
class Metrics;
}

class EventLog;

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

// How long a stage of a request took; in every answer, and after a failure in the error.
using Stage = telemetry::Stage;

// What a command gets that does not say otherwise.
struct ExecDefaults {
  std::string user;  // "" = the driver's
  std::string cwd;   // "" = the workspace

  bool operator==(const ExecDefaults&) const = default;
};

struct CreateRequest {
  std::string driver;   // "" = the router's choice
  std::string profile;  // "" = default
  std::string name;     // "" = none; unique per tenant, and creating the same name again gives the
                        // same sandbox
  std::string user_id;
  std::optional<std::chrono::seconds> ttl;
  std::optional<std::chrono::seconds> idle;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> env;
  Resources resources;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::optional<HostDirectory> workspace;
  std::vector<HostDirectory> mounts;
  std::optional<HostDirectory> root;  // the root file system; always copied on write
  std::string template_name;          // NAME:TAG that `root` is of; "" = of none
  // Keeps the template's tree until a sandbox has it.
  std::shared_ptr<const void> root_hold;
  ExecDefaults defaults;
  std::string warm;                   // of a run: see SandboxSpec
  std::vector<NewFile> files;         // in it before anybody gets it
  std::optional<SetupCommand> setup;  // of a run
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
  std::string driver;
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
  std::string profile;
  std::string user_id;
  std::map<std::string, std::string> labels;
  Resources resources;
  ExecDefaults defaults;
  std::string template_name;  // "" = none
  WallTime created_at{};
  std::optional<WallTime> expires_at;
  std::optional<std::chrono::seconds> idle;
  WallTime last_active_at{};
  std::string failure;  // why it failed, when it did
  std::vector<Stage> stages;
  bool was_there = false;  // what create() found under its name, rather than made
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
  size_t calls = 0;    // under way
  size_t turns = 0;    // calls that wait for another one on the same sandbox
  size_t cleanup = 0;  // sandboxes whose run is over
  size_t store = 0;    // writes that are not committed yet
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
// run() returns Code::cancelled. Cancelling the coroutine that waits does the same.
class RunStop final {
 public:
  void stop() {
    stopped_ = true;
    if (on_stop_) std::exchange(on_stop_, nullptr)();
  }
  bool stopped() const { return stopped_; }

 private:
  friend class Runs;
  bool stopped_ = false;
  std::function<void()> on_stop_;
};

enum class Ending : uint8_t {
  leave_sandboxes,  // for the next daemon
  end_sandboxes,
};

// When drivers over servers of others (Driver::is_somebody_elses) are probed: with all, or only
// when no other driver will do, so that a single run need not wait for them.
enum class Asking : uint8_t { at_once, when_needed };

struct EngineOptions {
  std::chrono::seconds default_ttl{3600};
  std::chrono::seconds longest_ttl{7 * 24 * 3600};
  std::chrono::seconds sweep_every{30};
  size_t most_sandboxes = 10'000;
  size_t most_sandboxes_per_tenant = 10'000;
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
  Task<Explanation> explain(CreateRequest request);
  // By id or by name.
  Result<SandboxView> get(const Caller& caller, std::string_view id_or_name);
  Result<SandboxPage> list(const Caller& caller, const ListFilter& filter);
  // Whose a live sandbox is, by id; nullopt when there is none.
  std::optional<std::string> find_tenant(std::string_view id) const;
  size_t count_of(const std::string& tenant) const;
  // Whether a sandbox that has not ended has this directory of the host as its root.
  bool has_root(std::string_view host_path) const;
  const EngineOptions& options() const;
  // Goes before everything that waits for the sandbox's turn. Where the driver does not answer, the
  // sandbox stays in State::stopping and the sweeper goes on trying.
  Task<> destroy(Caller caller, std::string id_or_name);

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
  Task<std::string> snapshot(Caller caller, std::string id_or_name, std::string name);
  Task<std::vector<SandboxView>> fork(Caller caller, std::string id_or_name, size_t count);
  Task<SandboxView> resize(Caller caller, std::string id_or_name, Resources resources);

  // With the sandbox's own user and working directory where the request names none.
  // Code::unsupported, naming drivers that can, when its driver knows no such user.
  Result<ExecRequest> complete(const Caller& caller, std::string_view id_or_name,
                               ExecRequest request);
  // Fails with Code::conflict unless the sandbox runs.
  Result<GuestLease> guest(const Caller& caller, std::string_view id_or_name);
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

  std::vector<DriverView> drivers() const;
  // Probes those that were not asked yet.
  Task<> ask_rest();
  // What becomes of sandboxes, of all tenants.
  EventLog& events();
  QueueLengths queue_lengths() const;
  // Of the store, for as long as that exists; what drivers mark their objects with. After
  // recover().
  const std::string& instance_id() const;

  // What the timers call: ends what is due, and makes the world and the records agree. For tests
  // and for operators who will not wait.
  Task<> reap();
  Task<> sweep();

 private:
  void on_ended(std::string id, EndedBy why) override;

  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with calls that are under way
};

}  // namespace atl
