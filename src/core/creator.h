// How sandboxes begin: checked, routed, journalled, made, committed.
#pragma once

#include "core/parts.h"
#include "telemetry/stages.h"

namespace atl {

struct RouteWish;

class Creator final {
 public:
  explicit Creator(Parts& parts) : parts_(parts) {}

  Task<SandboxView> create(Caller caller, CreateRequest request,
                           std::optional<Idempotency> idempotency);

  Task<Explanation> explain(CreateRequest request);

  // For a run: journalled once, and its success is not committed, since whatever is left of a run
  // after a restart is destroyed.
  Task<RecordPtr> create_for_run(Caller caller, CreateRequest request, telemetry::StageTimer timer);

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
    std::vector<store::Change> more = {};  // to be written with the record
  };

  // What was made for the same key or name before, or is being made; nullopt when there is nothing.
  Task<std::optional<SandboxView>> find_made(  // awaited at once
      const Caller& caller, const CreateRequest& request,
      const std::optional<Idempotency>& idempotency);
  Task<std::optional<SandboxView>> find_by_key(const Caller& caller,
                                               const Idempotency& idempotency);
  Task<SandboxView> join(RecordPtr record);
  // Drivers that were to be asked late are asked if no other will do.
  Task<> ask_if_needed(RouteWish wish);
  Result<Plan> plan(const Caller& caller, CreateRequest request, Lifecycle lifecycle,
                    telemetry::StageTimer timer);
  Task<> make(Plan plan);
  Task<Intent> announce(Plan& plan);
  Task<> make_journalled(Plan& plan, Intent intent);
  Task<std::shared_ptr<Sandbox>> make_on_route(Plan& plan);
  Task<> write_files(Plan& plan);
  Task<> commit(Plan& plan, Intent intent);
  void place(SandboxRecord& record, const DriverSlot& slot);
  void give_up(Plan& plan, Intent intent, const Error& why);

  Parts& parts_;
};

// Everything a driver needs to make the record's sandbox, without host directories.
SandboxSpec to_spec(const SandboxRecord& record);

}  // namespace atl
