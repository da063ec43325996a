// One simulated life: an engine over fake hosts, a disk and a clock, with clients that call and a
// world that fails, all from one seed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "core/engine.h"
#include "telemetry/metrics.h"
#include "tests/simulation/disk_store.h"
#include "tests/simulation/holds.h"
#include "tests/simulation/hosts.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/trace.h"

namespace boost::asio {
class cancellation_signal;
class io_context;
}  // namespace boost::asio

namespace atl::simulation {

constexpr uint64_t kLeastOperations = 200;
constexpr uint64_t kLeastFaults = 5;

struct Outcome {
  std::string lie;  // "" = none
  uint64_t operations = 0;
  uint64_t acknowledged = 0;  // of these
  uint64_t failovers = 0;
  uint64_t pool_hits = 0;  // sandboxes that were made ahead and handed out
  uint64_t refused = 0;    // creates, over a quota or after a wait in vain
  uint64_t queued = 0;     // creates that waited for their turn and had it
  std::array<uint64_t, kFaults> faults{};
  uint64_t fault_count = 0;
  uint64_t hash = 0;  // of all that happened
};

// Of the tenants that are held to one.
policy::Quotas small_quotas();

class Life final {
 public:
  Life(uint64_t seed, Mutant mutant, Trace::Told told);
  ~Life();

  Outcome live();

 private:
  // A client's call, until it is answered.
  struct Call {
    std::function<bool()> is_done;
    std::function<void()> settle;  // tells the ledger
    std::shared_ptr<asio::cancellation_signal> cancel;
  };
  // Whether a caller can go away before it is answered.
  enum class Caller : uint8_t { may_leave, stays };

  // Lives of the daemon.
  void start();
  void crash();
  void rest();
  void run_dry();
  // Nothing new begins before it is done.
  void go_on_until(const std::shared_ptr<bool>& is_done, const char* what);
  void pass_time(Micros by);

  void step();
  void collect();
  void read_log();
  void tell_twice();

  // What clients do. False when there was nothing to do it to.
  bool begin_operation();
  bool begin_create();
  bool begin_repeat();
  bool begin_change();
  void repeat_with_another_body(const std::string& key);
  bool begin_run();
  bool begin_upkeep();
  bool write_file();
  bool begin_session();
  bool open_session();
  void renew_session(const std::string& id);
  void close_session(const std::string& id);
  void check_sessions();
  bool begin_crowding();
  void crowd(const std::string& tenant);
  void check_quota(const std::string& tenant);
  void draw_place(Asked& asked);
  void begin_move(const char* what, const std::string& id, Task<SandboxView> task, State target);
  void begin_renewal(const std::string& id);
  void begin_use(const std::string& id);
  void wake_all();
  void begin_fork(const std::string& id);
  void begin_destroy(const std::string& id);
  template <typename T>
  void begin(Task<T> task, Caller caller, std::function<void(Result<T>)> settle);
  template <typename T>
  static Task<> keep(Task<T> task, std::shared_ptr<std::optional<Result<T>>> out);
  void create(const Asked& asked);
  CreateRequest to_request(const Asked& asked) const;
  // What a pool has given was nobody's before.
  void check_fresh(const std::string& tag, const SandboxView& view);

  // What the world does.
  void fault();
  void restart_in_order();
  void let_time_pass();
  void narrow_a_driver();
  void set_clock();
  void let_a_caller_leave();
  void let_a_sandbox_die();
  void storm();

  std::optional<std::string> pick_given();
  std::vector<SandboxView> list_all() const;
  void say(const std::string& what) { trace_.say(what); }
  // Counts with the next operation that a client begins.
  void leave_for_next(Fault fault) { unmet_.push_back(fault); }

  const Mutant mutant_;
  Trace trace_;
  Dice dice_;
  Schedule schedule_;
  FakeClock clock_;
  telemetry::Metrics metrics_;
  Disk disk_;
  Ledger ledger_;
  Holds holds_;
  Hosts hosts_;
  std::vector<Call> calls_;
  std::vector<Asked> repeatable_;  // with a key or a name
  std::vector<Fault> unmet_;
  int made_ = 0;
  uint64_t operations_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t pool_hits_ = 0;
  uint64_t refused_ = 0;
  uint64_t queued_ = 0;
  // By tenant: sandboxes that it was given and that nobody wanted to destroy.
  std::map<std::string, std::set<std::string>> crowds_;

  std::unique_ptr<asio::io_context> loop_;
  std::unique_ptr<DiskStore> store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace atl::simulation
