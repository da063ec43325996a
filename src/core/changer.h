// What can be done to a sandbox between its beginning and its end.
//
// Every call waits for the sandbox's turn, journals what it is about to do, does it, and settles.
#pragma once

#include <initializer_list>

#include "core/parts.h"

namespace atl {

// What helps after a failure, in words that the command line and the API both have.
constexpr const char* kAfterFailure = "reset it, or remove it";

// Code::conflict, with what would help, unless the sandbox is in one of these states.
Result<> expect(const SandboxRecord& record, std::initializer_list<State> allowed,
                std::string_view verb);

// Code::unavailable where the sandbox's driver offers less, or is farther away, than the sandbox
// was told to be.
Result<> check_offers_as_much(const DriverSlot& slot, const SandboxRecord& record);

class Changer final {
 public:
  explicit Changer(Parts& parts) : parts_(parts) {}

  Task<SandboxView> stop(RecordPtr record);
  Task<SandboxView> start(RecordPtr record);
  Task<SandboxView> recreate(RecordPtr record);
  Task<SandboxView> renew(RecordPtr record, std::optional<std::chrono::seconds> ttl);
  Task<SandboxView> pause(RecordPtr record);
  Task<SandboxView> resume(RecordPtr record);
  // Made anew; see reset.cc.
  Task<SandboxView> reset(RecordPtr record, Caller caller, std::map<std::string, std::string> env);
  Task<SnapshotView> snapshot(RecordPtr record, std::string owner, SnapshotAsk ask);
  // What ends is kept for the next one of its name; while its turn is held. See keep.cc.
  Task<> keep(RecordPtr record);
  Task<std::vector<SandboxView>> fork(RecordPtr record, Caller caller, size_t count,
                                      SnapshotKind kind);
  Task<SandboxView> resize(RecordPtr record, Caller caller, Resources resources);
  Task<SandboxStats> stats(RecordPtr record);

  // Stops or pauses a sandbox whose time is up or that is idle; it looks again when its turn has
  // come. See rest.cc.
  Task<> rest(RecordPtr record);
  // The same for one that nobody holds any more.
  Task<> rest_now(RecordPtr record, OnEnd how);
  // The contrary, for whoever uses it next.
  Task<> wake(RecordPtr record);

  // The driver says that its processes are gone, though nobody asked.
  void note_death(const RecordPtr& record, std::string why);
  // Makes a sandbox anew that has died or does not answer, if it still has not come back; see
  // reset.cc.
  Task<> revive(RecordPtr record);

 private:
  // What is needed to make a sandbox again under its id.
  struct Remake {
    DriverSlot* slot = nullptr;
    std::shared_ptr<Sandbox> old;              // null: nothing is left of it
    std::shared_ptr<const SnapshotView> from;  // null: from the beginning
    std::shared_ptr<const policy::Startup> startup;
    CreateRequest root;  // of a template: its tree, and the environment that its image gives
  };
  Task<Remake> prepare_remake(RecordPtr record, Caller caller);
  Task<SandboxView> remake(RecordPtr record, Remake with, Intent intent, std::string doing);
  Task<> revive_now(RecordPtr record);
  Task<> start_anew(RecordPtr record, Remake with);
  Task<> drop_fresh(RecordPtr record, Error why);
  // Moves to `state` and journals it; takes the move back if that fails.
  Task<Intent> enter(RecordPtr record, State state, Op op);
  // Journals that an operation came to nothing, and gives the reason back.
  Error fail(const RecordPtr& record, Intent intent, Error why);
  // The answer to somebody who asks for what is so already.
  Task<SandboxView> confirm(RecordPtr record);
  Task<> ensure_handle(RecordPtr record);
  // Has the driver make a snapshot that the store knows of; nothing is left of one that fails.
  Task<SnapshotView> take(RecordPtr record, SnapshotPtr snapshot);
  // Code::unsupported, naming drivers that can, unless the sandbox's own driver can.
  // Code::unavailable when its driver has no room for `more` beside what is there.
  Result<> check_driver_room(const SandboxRecord& record, const policy::Amounts& more);
  Result<> check_able(const SandboxRecord& record, std::string_view verb,
                      bool (*can)(const Capabilities&));
  // Success without a judge, too.
  Task<> ask_judge(Caller caller, std::string action, RecordPtr record, Resources resources,
                   size_t count);
  // Both while the sandbox's turn is held.
  Task<SandboxView> restart(RecordPtr record, Op op);
  Task<SandboxView> stop_now(RecordPtr record, Rest why);
  Task<SandboxView> set_paused(RecordPtr record, Op op);
  Task<SandboxView> pause_or_resume(RecordPtr record, Op op, Rest why);
  // Somebody comes back after its time to live: that counts anew. True when it does.
  Result<bool> give_time(SandboxRecord& record);
  Task<> make_children(RecordPtr parent, std::vector<SandboxSpec> specs, SnapshotKind kind);
  RecordPtr make_child(const SandboxRecord& parent);
  Task<> attach_children(RecordPtr parent, std::vector<RecordPtr> children, SnapshotKind kind);
  // Undoes a fork that failed, and gives the reason back.
  asio::awaitable<Error> drop_children(RecordPtr parent, std::vector<RecordPtr> children,
                                       Error why);

  Parts& parts_;
};

}  // namespace atl
