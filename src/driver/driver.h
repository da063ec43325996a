// The contract between Atoll and whatever really runs the code.
//
// Two small interfaces carry the whole system: Driver makes sandboxes, Sandbox is a handle to one.
// Everything lives on the core loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "driver/capabilities.h"
#include "driver/guest.h"
#include "driver/snapshot.h"
#include "driver/spec.h"

namespace atl {

struct SandboxStats {
  uint64_t processes = 0;
  Micros cpu{0};
  uint64_t memory_bytes = 0;
  Micros age{0};
  uint64_t braked = 0;  // commands that do nothing but run against a limit, and are slowed down
};

// One sandbox. Dropping the handle does not end the sandbox; destroy() does. What the driver did
// not declare in its Capabilities answers Code::unsupported, which is what the defaults here do.
class Sandbox {
 public:
  virtual ~Sandbox() = default;

  virtual const std::string& id() const = 0;
  // False once its processes are gone (stopped, expired, killed) though its workspace may still be
  // there.
  virtual bool is_running() const = 0;
  // Valid as long as this handle.
  virtual Guest& guest() = 0;
  virtual Task<SandboxStats> stats() = 0;

  // Ends every process and keeps the workspace; recreate() goes on from there.
  virtual Task<> stop() = 0;
  // Same id, same workspace, fresh processes. Works everywhere, on a running sandbox too.
  virtual Task<> recreate(SandboxSpec spec) = 0;
  // Moves the moment at which the driver ends the sandbox by itself (Clock::boot(); zero = never).
  virtual Task<> renew(Micros expires_at) = 0;
  // Idempotent. Once it returns nothing of the sandbox is left on the backend.
  virtual Task<> destroy() = 0;

  virtual Task<> pause();
  virtual Task<> resume();
  virtual Task<> resize(Resources resources);
};

// Its time was up; its first process died, or was killed for want of memory; what it lives in, an
// engine, was restarted or died.
enum class EndedBy : uint8_t { expiry, death, memory, engine };

class Driver;

// Told when a sandbox ends without anybody having asked: its time was up, or its first process
// died. Two drivers may have one of the same id, if a request fell over from the first and its
// answer was lost, so whoever tells says who it is.
class DriverListener {
 public:
  virtual ~DriverListener() = default;
  virtual void on_ended(const Driver& by, std::string id, EndedBy why) = 0;
};

// Of a driver that makes sandboxes before anybody asks for them.
struct MadeAhead {
  uint64_t hits = 0, misses = 0;  // requests of kinds that are made ahead
  uint64_t parked = 0;            // that are nobody's yet
};

class Driver {
 public:
  virtual ~Driver() = default;

  // Set once, before the first create; outlives the driver.
  void set_listener(DriverListener* listener) { listener_ = listener; }

  virtual std::string_view name() const = 0;

  // What it can offer with this runtime ("" = its own) where everything is in order, known without
  // asking anybody: no repair makes a sandbox of it stronger. Isolation::none where it takes no
  // such runtime.
  virtual Isolation strongest(std::string_view runtime) const = 0;

  // The number that the user of all commands has in the sandbox, where Capabilities::users is
  // false; nullopt = it is not known.
  virtual std::optional<int64_t> only_user() const { return std::nullopt; }

  // True when probing means to wait for a server that is not ours, or even starts it.
  virtual bool is_somebody_elses() const { return false; }

  // Asks the host or the remote end what works here. Code::unavailable means: skip this driver for
  // now; the hint says what would make it work.
  virtual Task<Capabilities> probe() = 0;

  // The same where probe() leaves Capabilities::runtimes out, because it takes its time to try
  // them.
  virtual Task<Capabilities> probe_with_runtimes() { return probe(); }

  // Everything that create() would decide for this spec, for people to read: one decision per line.
  // Makes and changes nothing. Code::unsupported where the driver decides nothing itself.
  virtual Task<std::string> explain(SandboxSpec spec);

  // The id of a sandbox that was made ahead and fits, kept for a create() of this id that soon
  // follows; "" = there is none, and any id will do.
  virtual std::string reserve(const SandboxSpec& spec);

  // Nullopt where none is ever made ahead.
  virtual std::optional<MadeAhead> made_ahead() const { return std::nullopt; }

  // On failure or cancellation nothing is left behind. Where that cannot be known (a remote answer
  // was lost) the doubtful object shows up in list(), and the sweeper destroys it.
  virtual Task<std::unique_ptr<Sandbox>> create(SandboxSpec spec) = 0;

  // Takes up a sandbox that an earlier daemon made; Code::not_found when it no longer exists. A
  // sandbox whose processes have ended but whose workspace is there is attached too, with
  // is_running() false.
  virtual Task<std::unique_ptr<Sandbox>> attach(std::string id) = 0;

  // Everything of ours that exists on the backend, for the sweeper; also what no store knows.
  virtual Task<std::vector<std::string>> list() = 0;

  // Destroys by id what list() showed and nobody can attach to; one that is gone is no error.
  virtual Task<> destroy_orphan(std::string id) = 0;

  // Keeps a sandbox of this driver as it is now, for SandboxSpec::snapshot; it outlives the
  // sandbox. Success means that it was read back. On failure nothing is left, or what is left shows
  // up in list_snapshots(). Its processes go on.
  virtual Task<SnapshotFacts> snapshot(Sandbox& sandbox, SnapshotRequest request);
  // The ids of all snapshots of ours that the backend keeps, also of those that came to nothing.
  virtual Task<std::vector<std::string>> list_snapshots();
  // Those of them that no sandbox can be made from any more: somebody has removed a part.
  virtual Task<std::vector<std::string>> list_broken_snapshots();
  // Those of list_snapshots() that may be another's as well as ours: whoever knows one by its id
  // uses and drops it, and nobody sweeps them.
  virtual Task<std::vector<std::string>> list_doubtful_snapshots();
  // One that is gone is no error; Code::conflict while a sandbox that was made from it needs it.
  virtual Task<> drop_snapshot(std::string id);
  // Lets go of what it has made of templates that nobody needs any more; `is_needed` is asked by
  // SandboxSpec::template_id. What a sandbox still has goes another time.
  virtual Task<> forget_templates(std::function<bool(const std::string& template_id)> is_needed);
  // Children like `parent` is now, with their processes where `by` is of memory; all or none. On
  // the way the driver may make the snapshot `by`, which whoever calls drops afterwards.
  virtual Task<> fork(Sandbox& parent, std::vector<SandboxSpec> children, SnapshotRequest by);

 protected:
  DriverListener* listener_ = nullptr;
};

// Driver::fork for a driver that has nothing better: one snapshot, and a sandbox from it for each
// child.
Task<> fork_by_snapshot(Driver& driver, Sandbox& parent, std::vector<SandboxSpec> children,
                        SnapshotRequest by);

// The sandbox made anew under its id, for a driver with Capabilities::reset: the old one is
// destroyed first, so nothing of whoever used it can be in the new one; without a handle, what may
// be left of it. `spec` is as for create(). `may_begin` is asked once the old one is gone, since
// the driver may have come to offer less meanwhile. When it fails the old one may be gone.
Task<std::unique_ptr<Sandbox>> make_anew(Driver& driver, std::shared_ptr<Sandbox> sandbox,
                                         SandboxSpec spec, std::function<Result<>()> may_begin);

}  // namespace atl
