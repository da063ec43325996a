// Creator: which snapshot a sandbox begins with, and what it takes from it.
#include <algorithm>

#include "base/own_home.h"
#include "core/creator.h"
#include "core/snapshots.h"

namespace atl {

// Whoever has images keeps a snapshot as one, with all of the root file system in it. Of one that
// does not answer the router tells that.
bool Creator::holds_root(const SnapshotView& snapshot) const {
  const DriverSlot* slot = parts_.drivers.find(snapshot.driver);
  return slot == nullptr || !slot->capabilities || slot->capabilities->images;
}

Result<std::shared_ptr<const SnapshotView>> Creator::use_snapshot(const Caller& caller,
                                                                  CreateRequest& request) const {
  if (request.snapshot.empty()) return nullptr;
  auto used = parts_.snapshots.use(caller, request.snapshot);
  if (!used) return std::move(used).error().with("snapshot").at_stage("request");
  const SnapshotView& from = **used;
  const auto differs = [](std::string_view field, const std::string& why) {
    return Error(Code::invalid_argument, std::string(field) + ": " + why).at_stage("request");
  };
  if (!request.driver.empty() && request.driver != from.driver)
    return differs("driver", "snapshot " + from.id + " is with driver " + from.driver);
  const auto& route = request.preferred;
  if (!request.run_mode.empty() && !route.empty() &&
      std::ranges::find(route, from.driver) == route.end())
    return differs("run_mode", "snapshot " + from.id + " is with driver " + from.driver);
  if (!request.image.empty() && request.image != from.image)
    return differs("image", "a sandbox has one root, and a snapshot has its own");
  const bool needs_template = !request.template_name.empty() || !holds_root(from);
  if (needs_template && request.template_name.empty() && !from.template_name.empty()) {
    return Error(Code::not_found, "snapshot: there is no template " + from.template_name +
                                      ", which the files of " + from.id + " belong to")
        .with_hint("add it again: atoll template add " + from.template_name + " ARCHIVE")
        .at_stage("request");
  }
  if (needs_template && request.template_name != from.template_name)
    return differs("template", from.template_name.empty()
                                   ? "a sandbox has one root, and a snapshot has its own"
                                   : "the snapshot is of a sandbox with " + from.template_name);
  if (!request.runtime.empty() && request.runtime != from.runtime)
    return differs("runtime", "the snapshot is of a sandbox with another one");
  // Where its files go back to.
  if (!request.home.empty() && request.home != from.home) {
    return differs("profile", "its home is " + request.home +
                                  ", and the snapshot is of a sandbox " + "whose home is " +
                                  (from.home.empty() ? std::string(kUsualHome) : from.home));
  }
  if (!request.warm.empty()) return differs("warm", "a snapshot has no interpreter that waits");
  request.snapshot = from.id;
  request.driver = from.driver;
  request.image = from.image;
  request.runtime = from.runtime;
  request.home = from.home;
  // What is only made from a checkpoint leaves none itself.
  const bool has_root = holds_root(from) && from.persistence != Persistence::ephemeral;
  if (request.persistence != Persistence::checkpoint)
    request.persistence = has_root ? Persistence::persistent : Persistence::ephemeral;
  Resources& has = request.resources;
  const Resources& had = from.resources;
  if (!has.cpu && !has.sharing && !has.cpu_weight) {
    has.cpu = had.cpu;
    has.sharing = had.sharing;
    has.cpu_weight = had.cpu_weight;
  }
  if (!has.memory_mb) has.memory_mb = had.memory_mb;
  if (!has.pids) has.pids = had.pids;
  if (!has.disk_mb) has.disk_mb = had.disk_mb;
  return *std::move(used);
}

Result<std::shared_ptr<const SnapshotView>> Creator::use_newest(const Caller& caller,
                                                                CreateRequest& request) const {
  TRY(auto checkpoint, find_checkpoint(caller, request));
  if (checkpoint.empty()) return use_snapshot(caller, request);
  request.snapshot = std::move(checkpoint);
  // What it may use is what the request says.
  const Resources asked = request.resources;
  const Caller keeper{.tenant = caller.tenant, .role = Role::admin};
  auto used = use_snapshot(keeper, request);
  request.resources = asked;
  return used;
}

// Whether it is the snapshot that is not there: whoever lists them sees that then, too.
Task<> Creator::look_for_snapshot(const Plan& plan, Error why) {
  DriverSlot* slot = parts_.drivers.find(plan.snapshot->driver);
  if (slot == nullptr) co_return why;
  const auto judged = co_await parts_.snapshots.judge(*slot);
  if (judged && plan.snapshot->state == SnapshotState::lost) {
    co_return lost(*plan.snapshot).at_stage("create");
  }
  co_return why;
}

}  // namespace atl
