// One sandbox as the engine knows it: what was asked, what it is now, and its handle.
#pragma once

#include <memory>
#include <set>

#include <boost/describe/class.hpp>

#include "base/event.h"
#include "core/engine.h"
#include "core/place.h"
#include "core/turns.h"
#include "json/describe.h"
#include "store/rows.h"

namespace atl {

struct AskedDirectory {
  std::string host_path;
  std::string guest_path;
  HostAccess access = HostAccess::ro;

  bool operator==(const AskedDirectory&) const = default;
};
BOOST_DESCRIBE_STRUCT(AskedDirectory, (), (host_path, guest_path, access))

// What has become of a sandbox since, as far as it needs to be known after a restart and has no
// column.
struct Course {
  static constexpr auto kRequired = json::required();

  int64_t keep_s = 0;   // zero: it ends with its time to live
  int64_t grace_s = 0;  // how long after that its driver leaves it alone
  Rest rest = Rest::none;
  int64_t recoveries = 0;
  bool died = false;          // and has not been made anew since
  int64_t tries = 0;          // to recreate it, in a row
  std::vector<Stage> stages;  // of its beginning; of a run, only if that failed
};
BOOST_DESCRIBE_STRUCT(Course, (), (keep_s, grace_s, rest, recoveries, died, tries, stages))

// What a create asked for, without values that may be secret: this is what the store keeps of it.
struct Asked {
  static constexpr auto kRequired =
      json::required();  // rows of an older daemon lack what came later

  std::string driver;
  std::string run_mode;
  std::string profile;
  std::string user_id;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::optional<OnEnd> on_expire;
  std::optional<OnEnd> on_idle;
  std::optional<int64_t> keep_s;
  std::optional<OnFailure> on_failure;
  std::optional<SessionScope> scope;  // sessions hold it
  std::optional<OnEnd> on_last;       // and this becomes of it when the last one lets go
  std::map<std::string, std::string> labels;
  std::vector<std::string> env_names;
  Resources resources;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::map<std::string, std::string> driver_labels;
  std::optional<AskedDirectory> workspace;
  std::vector<AskedDirectory> mounts;
  std::optional<AskedDirectory> root;
  std::string template_;    // NAME:TAG that the root is of
  std::string template_id;  // and its id
  std::string image;
  std::string runtime;
  Persistence persistence = Persistence::ephemeral;
  std::optional<SnapshotKind> checkpoint;
  std::optional<Life> lifecycle;
  Network network = Network::none;
  bool engine_socket = false;
  std::optional<std::vector<std::string>> mount_roots;
  std::string home;      // see SandboxSpec
  std::string snapshot;  // the id of the one that it was made from
  int64_t resets = 0;
  std::string user;
  std::optional<int64_t> user_number;  // of that one, as its template has it
  std::string cwd;
  int64_t timeout_ms = 0;    // of commands that do not say
  std::string files;         // their fingerprint
  bool startup = false;      // its profile has something done when it starts or stops
  bool start_hooks = false;  // that has hooks for whenever it starts
  int64_t stop_s = 0;        // how long hooks before its stop may take; 0 = it has none
  std::string pool;          // that it is in, or came from; "" = none
  std::string pool_print;    // while it is in it: of its shape (pool_shape.h)
  Course course;

  ExecDefaults defaults() const { return {user, cwd, Millis(timeout_ms)}; }
};
BOOST_DESCRIBE_STRUCT(Asked, (),
                      (driver, run_mode, profile, user_id, ttl_s, idle_s, on_expire, on_idle,
                       keep_s, on_failure, scope, on_last, labels, env_names, resources,
                       min_isolation, placement, driver_labels, workspace, mounts, root, template_,
                       template_id, image, runtime, persistence, checkpoint, lifecycle, network,
                       engine_socket, mount_roots, home, snapshot, resets, user, user_number, cwd,
                       timeout_ms, files, startup, start_hooks, stop_s, pool, pool_print, course))

Asked to_asked(const CreateRequest& request);

// Who its commands are by number, as far as a template says so.
std::optional<int64_t> number_of_user(const CreateRequest& request);

// The host directories that the sandbox has copies of. A template's tree is none of the host's: it
// stays as it is.
std::vector<Changes::Copy> copies_of(const Asked& asked);

void fill_in(ExecRequest& request, const ExecDefaults& defaults);

// A creation or a destruction under way, for those who ask for the same meanwhile.
struct Joint {
  explicit Joint(const asio::any_io_executor& executor) : done(executor) {}

  void end(const Result<>& result) {
    if (!result) failure = result.error();
    done.fire();
  }

  Event done;
  std::optional<Error> failure;
  bool is_called_off = false;  // nothing has ended, and nothing has failed
};

// What the reaper does with a sandbox.
enum class Act : uint8_t { kill, stop, pause, revive };

struct SandboxRecord {
  explicit SandboxRecord(const asio::any_io_executor& executor)
      : turns(executor), creation(std::make_shared<Joint>(executor)) {}

  std::string id;
  std::string tenant;
  std::string owner;
  std::string name;
  Asked asked;
  Lifecycle lifecycle = Lifecycle::session;
  State state = State::pending;
  std::string driver;
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
  Resources resources;
  // Nullopt when an earlier daemon made the sandbox: the values are with the driver then.
  std::optional<std::map<std::string, std::string>> env;
  WallTime created_at{};
  std::optional<WallTime> expires_at;
  Micros expires_boot{0};  // zero = never
  std::chrono::seconds ttl{0};
  std::optional<std::chrono::seconds> idle;
  WallTime last_active_at{};
  Micros last_active_boot{0};
  std::optional<WallTime> ended_at;
  std::string failure;
  int64_t generation = 0;
  std::vector<Stage> stages;

  // Shared with leases, so that a call under way keeps its memory. Null until the driver has made
  // or attached it.
  std::shared_ptr<Sandbox> handle;
  size_t leases = 0;
  Turns turns;
  std::shared_ptr<Joint> creation;
  std::shared_ptr<GiveUp> give_up = std::make_shared<GiveUp>();  // of its creation
  std::shared_ptr<Joint> destruction;                            // null while nobody destroys it
  int64_t run_intent = 0;  // of a run, settled when the run is over
  // A destruction that the driver could not do yet; the sweeper tries again.
  bool is_doomed = false;
  // What an earlier daemon was doing when it died, until it is finished or undone.
  std::optional<store::IntentRow> interrupted;
  // Intents that are over, of which the store does not know it yet; whatever is begun next tells
  // it.
  std::vector<store::EndIntent> unsettled;
  bool awaits_driver = false;  // to be attached as soon as its driver answers
  Micros reaper_looks_at{0};   // the reaper's own mark
  policy::Amounts amounts;     // as the table counts it
  std::string counted_on;      // the driver whose room it takes, as the table counts that
  bool is_discounted = false;  // for its tenant it does not count any more
  Place place;                 // while it is being made, or its run is under way

  // Being put to rest, so nobody new may come in; and being woken, for those who want the same.
  bool is_dozing_off = false;
  // Who has a session that holds it; they see it like its owner.
  std::set<std::string> holders;
  std::shared_ptr<Joint> waking;
  // A rest that failed, or an end that could not be kept, is tried again after this moment, later
  // each time.
  Micros rest_not_before{0};
  int failed_rests = 0;
  void put_off(Micros now);
  // What the pulse knows of it: when it was asked last, and how often in a row it has not answered.
  Micros pulse_at{0};
  int missed_pulses = 0;
  std::weak_ptr<Sandbox> being_asked;  // the handle whose answer is still awaited
  bool is_unresponsive = false;
  // When it is to be recreated because it has failed; zero = it is not. And when that was done
  // last.
  Micros recover_at{0};
  Micros revived_at{0};

  OnEnd on_expire() const { return asked.on_expire.value_or(OnEnd::kill); }
  OnEnd on_idle() const { return asked.on_idle.value_or(OnEnd::kill); }
  // When it is ended for good, on Clock::boot(). Zero = never.
  Micros last_moment() const {
    return expires_boot.count() == 0 ? Micros(0)
                                     : expires_boot + std::chrono::seconds(asked.course.keep_s);
  }
  // Nothing of it goes before it was kept.
  bool is_kept() const { return asked.persistence == Persistence::checkpoint; }
  // When nothing of it may be left: this is what its driver knows. Zero = never.
  Micros drivers_moment() const {
    return expires_boot.count() == 0 || is_kept()
               ? Micros(0)
               : last_moment() + std::chrono::seconds(asked.course.grace_s);
  }

  // What the reaper has to do next, and when on Clock::boot(); nullopt while nothing runs out.
  struct Due {
    Micros at{0};
    Act act = Act::kill;
    Rest why = Rest::expired;  // of a stop or a pause
  };
  std::optional<Due> due() const;
  std::optional<Micros> deadline() const;
  Health health() const;
  SandboxView view() const;
};

using RecordPtr = std::shared_ptr<SandboxRecord>;

// While it lives nobody new comes into the sandbox: a command that began now would stand still, or
// be lost with it, and nobody would know.
class DozingOff final {
 public:
  explicit DozingOff(SandboxRecord& record) : record_(record) { record_.is_dozing_off = true; }
  DozingOff(const DozingOff&) = delete;
  DozingOff& operator=(const DozingOff&) = delete;
  ~DozingOff() { record_.is_dozing_off = false; }

 private:
  SandboxRecord& record_;
};

inline bool sees(const Caller& caller, const SandboxRecord& record) {
  if (sees(caller, record.tenant, record.owner, record.id)) return true;
  return caller.sandbox.empty() && caller.tenant == record.tenant &&
         record.holders.contains(caller.subject);
}

store::SandboxRow to_row(const SandboxRecord& record, const std::string& boot_id);
// A row that makes no sense is Code::internal, naming the sandbox.
Result<RecordPtr> from_row(const asio::any_io_executor& executor, const store::SandboxRow& row);

// In what the two differ, in words of the API: "driver, env"; "" when in nothing. Values of the
// environment are compared where both are known.
std::string differences(const SandboxRecord& record, const CreateRequest& request);

}  // namespace atl
