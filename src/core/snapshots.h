// All snapshots, by id and by name: how they begin and end, in the store and with their drivers.
//
// A row is on the disk before a driver makes anything, and goes after the driver has nothing left.
// So whenever the daemon dies, what a driver has is known: a row that says `ready` is somebody's
// snapshot; everything else is dropped after the restart, by the row or because there is none.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/access.h"
#include "core/driver_table.h"
#include "core/snapshot_view.h"
#include "store/store.h"

namespace atl {

struct SandboxRecord;

struct SnapshotRecord {
  SnapshotView view;
  bool is_fork = false;  // only on the way to children; nobody sees it
  bool is_busy = false;  // its driver is making or dropping it
  size_t users = 0;      // sandboxes that are being made from it
  Micros used_at{0};     // of a layer, by this daemon
};
using SnapshotPtr = std::shared_ptr<SnapshotRecord>;

// What whoever wants to use a lost one is told.
Error lost(const SnapshotView& snapshot);

inline constexpr size_t kMostLayersPerTenant = 16;
inline constexpr size_t kMostCheckpoints = 3;  // of one name
// Packages of which no version is named are looked for anew after that.
inline constexpr std::chrono::hours kLayerLife{7 * 24};

class Snapshots final {
 public:
  // Everything outlives it.
  Snapshots(store::Store& store, DriverTable& drivers, telemetry::Metrics& metrics,
            const Clock& clock, const EngineOptions& options);

  void load(const std::vector<store::SnapshotRow>& rows);

  // Known to the store, and about to be made. Code::already_exists for a name that is taken,
  // Code::resource_exhausted when there are too many.
  Task<SnapshotPtr> begin(const SandboxRecord& of, std::string owner, SnapshotAsk ask);
  // The same for what a fork needs on its way; drop() it afterwards.
  Task<SnapshotPtr> begin_fork(const SandboxRecord& of);
  // The same for a layer; null when there is one, or somebody makes it. Those that are too old or
  // too many go.
  Task<SnapshotPtr> begin_layer(const SandboxRecord& of, std::string key);
  // The same for what a sandbox leaves that ends (core/keep.cc). The oldest does not count where it
  // goes for it.
  Task<SnapshotPtr> begin_checkpoint(const SandboxRecord& of, SnapshotKind kind);
  // Those beyond the newest kMostCheckpoints go.
  Task<> trim_checkpoints(std::string tenant, std::string name);
  // What a sandbox of this name has left last, lost or not; null when none has left anything.
  SnapshotPtr find_checkpoint(std::string_view tenant, std::string_view name) const;
  // Null when there is none that is whole and young enough; while somebody has it it is not
  // dropped.
  std::shared_ptr<const SnapshotView> use_layer(const std::string& tenant,
                                                const std::string& driver, const std::string& key);
  // It is there, and the store knows.
  Task<> finish(SnapshotPtr snapshot, SnapshotFacts facts);
  // Nobody sees it from now on, and its driver lets it go, now or when it can.
  Task<> drop(SnapshotPtr snapshot);

  // Those that could not be let go when they were dropped, because a sandbox needed them.
  Task<> drop_waiting(DriverSlot& slot);

  // By id, or by name within the caller's tenant, and only what the caller sees.
  Result<SnapshotPtr> get(const Caller& caller, std::string_view id_or_name) const;
  // The same for one that a sandbox is to be made from; while somebody has it it is not dropped.
  Result<std::shared_ptr<const SnapshotView>> use(const Caller& caller,
                                                  std::string_view id_or_name) const;
  // Oldest first; `sandbox` "" = of all.
  std::vector<SnapshotView> list(const Caller& caller, std::string_view sandbox) const;
  size_t count_of(std::string_view tenant) const;

  // What the driver has and what is known are made to agree. What nobody knows is dropped when it
  // was seen twice, or at once.
  // What the driver does not have whole is lost from now on, and what it has again is not. Gives
  // all that it has.
  Task<std::set<std::string>> judge(DriverSlot& slot);
  enum class Unknown : uint8_t { at_once, when_seen_twice };
  Task<> sweep(DriverSlot& slot, Unknown unknown);

 private:
  Task<SnapshotPtr> insert(SnapshotPtr snapshot);
  Error too_many(const std::string& tenant) const;
  // The newest first.
  std::vector<SnapshotPtr> checkpoints_of(std::string_view tenant, std::string_view name) const;
  Task<> write(const SnapshotRecord& snapshot);
  Task<> drop_on_driver(SnapshotPtr snapshot);
  bool is_outdated(const SnapshotRecord& layer) const;
  void set_state(SnapshotRecord& snapshot, SnapshotState state);
  bool is_shown(const Caller& caller, const SnapshotRecord& snapshot) const;

  store::Store& store_;
  DriverTable& drivers_;
  telemetry::Metrics& metrics_;
  const Clock& clock_;
  const EngineOptions& options_;
  std::map<std::string, SnapshotPtr> by_id_;
  std::map<std::string, std::set<std::string>> suspects_;  // by driver: unknown at the last sweep
};

}  // namespace atl
