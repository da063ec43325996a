// How sandboxes begin: checked, routed, journalled, made, committed.
#pragma once

#include "core/layers.h"
#include "core/parts.h"
#include "telemetry/stages.h"

namespace atl {

struct RoutePlan;
struct RouteWish;

class Creator final {
 public:
  explicit Creator(Parts& parts) : parts_(parts) {}

  Task<SandboxView> create(Caller caller, CreateRequest request,
                           std::optional<Idempotency> idempotency);

  Task<Explanation> explain(Caller caller, CreateRequest request);
  Task<RoutePlan> plan_route(Caller caller, CreateRequest request, std::string as);

  // Works the request's profile in; see profile_use.h.
  Result<> settle(CreateRequest& request, Lifecycle lifecycle) const;

  // For a run: journalled once, and its success is not committed, since whatever is left of a run
  // after a restart is destroyed. Code::cancelled when it is given up before it is made.
  Task<RecordPtr> create_for_run(Caller caller, CreateRequest request, telemetry::StageTimer timer,
                                 std::shared_ptr<GiveUp> give_up);

  // For a pool: nobody's, and in no row; see pool_shelf.h.
  struct Parking {
    std::string pool;
    std::string print;  // of its shape
    std::chrono::seconds ttl;
  };
  Task<RecordPtr> create_for_pool(CreateRequest request, Parking parking);
  // What is being made or has been made: waits for its end, and fails with it.
  Task<SandboxView> join(RecordPtr record);

 private:
  // A sandbox that is in the table and not made yet.
  struct Plan {
    RecordPtr record;
    SandboxSpec spec;
    std::vector<DriverSlot*> route;
    std::optional<store::IdempotencyRow> key;
    bool was_parked = false;  // the driver has one ready
    telemetry::StageTimer timer;
    std::vector<NewFile> files = {};
    std::vector<store::Change> more = {};                    // to be written with the record
    std::shared_ptr<const SnapshotView> snapshot = nullptr;  // kept from being dropped meanwhile
    std::shared_ptr<const policy::Startup> startup = nullptr;
    PoolPtr pool = nullptr;                     // that it could be from
    std::shared_ptr<Sandbox> parked = nullptr;  // and that it is, then
    Layering layering = {};
    StartPrint root = {};                     // see core/known_programs.h
    size_t at = 0;                            // of the route: who makes it
    std::optional<Error> first_failure = {};  // of the only driver that there is
    std::string under_way = {};               // what its driver is doing, in the words of a stage
    std::vector<std::pair<std::string, std::string>> said = {};  // by its driver, of stages of its
  };

  // What was made for the same key or name before, or is being made; nullopt when there is nothing.
  Task<std::optional<SandboxView>> find_made(  // awaited at once
      const Caller& caller, const CreateRequest& request,
      const std::optional<Idempotency>& idempotency);
  Task<std::optional<SandboxView>> find_by_key(const Caller& caller,
                                               const Idempotency& idempotency);
  // What each stage has to tell that went well (start_log.cc). Whoever only runs a command has no
  // record of that, and does not wait for it to be written.
  static void note_stages(Plan& plan);
  // A place among those that may be made, and what the wait for it has settled (admit.cc).
  struct Entry {
    Place place;
    std::string id;           // "" = none yet
    bool has_waited = false;  // what was known before need not be so any more
  };
  Task<Entry> admit(const Caller& caller, const CreateRequest& request,  // awaited at once
                    Lifecycle lifecycle, telemetry::StageTimer& timer);
  Task<Entry> try_admit(const Caller& caller, const CreateRequest& request,  // awaited at once
                        Lifecycle lifecycle, telemetry::StageTimer& timer);
  Task<Entry> wait_for_turn(const Caller& caller, const CreateRequest& request,
                            Lifecycle lifecycle);
  Task<SandboxView> join_with_key(RecordPtr record, store::IdempotencyRow key);
  // What the request wishes, and what its caller and its tenant may not go below.
  RouteWish wish_of(const Caller& caller, const CreateRequest& request) const;
  // A refusal of the router: there is no sandbox, and how it came to that is kept as of one that
  // failed.
  Error refuse(const Caller& caller, const CreateRequest& request, Lifecycle lifecycle,
               telemetry::StageTimer timer, std::string id, Error why);
  // Drivers that were to be asked late are asked if no other will do.
  Task<> ask_if_needed(RouteWish wish);
  bool holds_root(const SnapshotView& snapshot) const;
  // Fills in what a snapshot decides; null without one. Code::not_found for one that is not there.
  Result<std::shared_ptr<const SnapshotView>> use_snapshot(const Caller& caller,
                                                           CreateRequest& request) const;
  // The same with the checkpoint that the request goes on from, when there is one.
  Result<std::shared_ptr<const SnapshotView>> use_newest(const Caller& caller,
                                                         CreateRequest& request) const;
  // The id of what a sandbox of this name has left; "" when that is not asked for, when one lives,
  // and when there is nothing.
  Result<std::string> find_checkpoint(const Caller& caller, const CreateRequest& request) const;
  Result<Plan> plan(const Caller& caller, CreateRequest request, Lifecycle lifecycle,
                    telemetry::StageTimer timer, Entry entry);
  Task<> make(Plan plan);
  // At most one event every kProgressPace; `next` is when there may be another.
  void tell_progress(const SandboxRecord& record, const Progress& progress, Micros& next);
  // What was parked becomes the plan's, or goes and is made afresh.
  Task<> take_over(Plan& plan);
  void note_pool(const Plan& plan);
  Task<> let_go(Plan& plan);
  Task<> look_for_snapshot(const Plan& plan, Error why);  // awaited at once
  Task<> settle_failed_tries(const Plan& plan);           // awaited at once
  Task<Intent> announce(Plan& plan);
  Task<> make_journalled(Plan& plan, Intent intent);
  Task<std::shared_ptr<Sandbox>> make_on_route(Plan& plan);
  // Whose turn it is after this failure of the one whose turn it was: the next driver of the route,
  // or where there is no other the same one, once.
  Task<size_t> next_try(Plan& plan, Error why);  // awaited at once
  // Where this one lacks what the profile requires, it is the place that is wrong, and not the
  // sandbox: the next driver of the route makes it. The error comes back when there is no other.
  Task<> go_elsewhere(Plan& plan, Error why);  // awaited at once
  // The next of the route that can be asked now; the route's size when there is none.
  size_t find_next(const Plan& plan) const;
  Task<> move_to(Plan& plan, size_t next);  // awaited at once
  Task<> write_files(Plan& plan);
  Task<> start_up(Plan& plan);
  Task<> commit(Plan& plan, Intent intent);
  void place(SandboxRecord& record, const DriverSlot& slot);
  // The error comes back with how far it came.
  Error give_up(Plan& plan, Intent intent, Error why);

  struct FailedTry {
    RecordPtr record;
    std::string key;  // "" = none
  };

  Parts& parts_;
  // That had a key or a name, and of whose end the store may not know yet.
  std::vector<FailedTry> failed_tries_;
  // Keys, with their tenants, that are being given to sandboxes which were there already.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Joint>> joining_keys_;
};

// Everything a driver needs to make the record's sandbox, without host directories.
SandboxSpec to_spec(const SandboxRecord& record);

}  // namespace atl
