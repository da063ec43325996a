// The ledger: what clients were promised, and therefore what must be true.
//
// It knows only what a client can know: requests, and answers. A call that was never answered may
// have come about or not, and the ledger expects nothing of it; one that was acknowledged binds the
// engine for good. The invariants:
//
//   I1  nothing that was acknowledged is lost
//   I2  what there is on the hosts is what the engine says, nothing more and nothing less
//   I3  a sandbox is in one legal state, runs at most once, and is handed out for one request
//   I4  every change of state is in the log: numbered without a gap, in a legal order
//   I5  a request that is repeated with its key has one effect, and another one with it has none
//   I6  what rests because nobody used it, or because its time was up, comes back when it is used
//   I7  a sandbox is held by the sessions that are open, and by nobody else (holds.h)
//   I8  what a tenant has never exceeds its quota (tenant_clients.cc)
//
// and the two that the router promises: nothing runs below the floor or outside the placement that
// was asked for it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine.h"
#include "core/event_log.h"

namespace atl::simulation {

// What sandboxes are renewed for.
constexpr std::chrono::seconds kRenewal{3600};

// One request for a sandbox. A repeated one is the same request.
struct Asked {
  std::string tag;  // in the sandbox, so that it can be told whose it is
  std::string key;  // idempotency; "" = none
  std::string name;
  bool is_pooled = false;  // it is for what a pool has ready, and its tag is in a file
  Isolation floor = Isolation::none;
  Placement placement = Placement::own;
  std::optional<policy::Strategy> strategy;
  std::chrono::seconds ttl{3600};
  // What becomes of it when its time is up, and when it is idle; nullopt: it ends, or never is.
  std::optional<OnEnd> on_expire = {};
  std::optional<OnEnd> on_idle = {};
  std::chrono::seconds keep{0};  // after its time
  OnFailure on_failure = OnFailure::fail;
  Micros first_at{0};  // when it was asked first, on Clock::boot()
};

// What a client knows of a sandbox that it was given.
struct Given {
  std::string tag;
  std::optional<State> state;  // nullopt: a call whose outcome is not known was about it
  // It ends between these two moments: when exactly its time began to count, nobody was told.
  Micros ends_from{0};
  std::optional<Micros> ends_until;  // nullopt: a renewal goes on without its caller
  int calls = 0;                     // under way
  // A call that should have changed its state failed or was not answered: what is left of it may
  // come about with the next daemon, whatever was done in the sandbox meanwhile.
  bool is_open = false;
  int renewals = 0;           // the same
  bool must_be_gone = false;  // its destruction was acknowledged
  bool may_be_gone = false;   // somebody wanted to destroy it, or the world has harmed it
  std::map<std::string, std::string> files;
};

// What really is on a host.
struct Found {
  std::string host;
  std::string tag;
  bool is_fork = false;
  bool is_running = false;
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
  std::map<std::string, std::string> files;
};

class Ledger final {
 public:
  void ask(const Asked& asked) { asked_[asked.tag] = asked; }
  const Asked& asked(const std::string& tag) const { return asked_.at(tag); }

  // Answers to a create; `made_by` is the request that made what is there, which may be an earlier
  // one for the same name.
  void give(const std::string& tag, const std::string& made_by, const SandboxView& view,
            Micros now);
  // That a key's sandbox has ended may be said only if it can have.
  void refuse(const std::string& tag, const Error& why, Micros now);
  // And to a fork that was asked at `begun`.
  void give_child(const std::string& parent, const SandboxView& view, Micros begun, Micros now);

  // What an answer says of the place of what was made for the request.
  void check_told(const std::string& tag, const std::string& what, Isolation isolation,
                  Placement placement);

  std::map<std::string, Given>& given() { return given_; }
  Given& at(const std::string& id) { return given_.at(id); }

  void begin_call(const std::string& id);
  // With the state that was acknowledged; nullopt for an error, or when nobody was answered.
  void end_call(const std::string& id, std::optional<State> acknowledged);
  // The same of a use, which shows that it runs now, and decides nothing.
  void end_use(const std::string& id, bool was_used);

  // A renewal for so long.
  void begin_renewal(const std::string& id, std::chrono::seconds ttl, Micros now);
  void end_renewal(const std::string& id, const Result<SandboxView>& answer,
                   std::chrono::seconds ttl, Micros begun, Micros now);

  // All calls under way have lost their caller, and the daemon.
  void forget_calls(Micros now);

  void read_log(const std::vector<std::shared_ptr<const SandboxEvent>>& events);
  // A new daemon's log begins anew.
  void restart_log();
  // Whether it may stand still or stop without anybody having asked.
  bool may_rest(const Given& given) const;

  // The log of this daemon must have told that the sandbox reached the state.
  void expect_in_log(const std::string& id, State state);
  uint64_t last_event() const { return last_event_; }

  // A destruction that a full disk does not record is acknowledged all the same, or the disk could
  // never be emptied; a daemon that is killed then leaves a sandbox of which nothing is there, and
  // the next one says that it has failed.
  void note_full_disk() { had_full_disk_ = true; }

  // What must hold at any moment.
  void check_floor(const std::string& id, const Found& place);
  // What must hold once everything has come to rest, all hosts answer, and a sweep is over.
  void check_rest(const std::map<std::string, std::vector<Found>>& found,
                  const std::map<std::string, State>& said, Micros now);

  // The first thing that was not as promised; "" = all is well.
  const std::string& lie() const { return lie_; }
  void accuse(std::string what) {
    if (lie_.empty()) lie_ = std::move(what);
  }

 private:
  std::map<std::string, Asked> asked_;         // by tag
  std::map<std::string, Given> given_;         // by id
  std::map<std::string, std::string> keys_;    // key → the id that was given for it
  std::map<std::string, std::string> of_key_;  // key → the request that it was given for
  std::map<std::string, State> told_;          // by the log of this daemon
  std::map<std::string, std::set<State>> reached_;
  uint64_t last_event_ = 0;
  bool had_full_disk_ = false;
  std::string lie_;
};

}  // namespace atl::simulation
