#include "core/snapshots.h"

#include <algorithm>

#include <boost/describe/class.hpp>

#include "base/ids.h"
#include "base/text.h"
#include "core/sandbox_record.h"
#include "json/json.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

// What a row says in JSON.
struct KeptFacts {
  static constexpr auto kRequired =
      json::required();  // rows of an older daemon lack what came later

  SnapshotKind kind = SnapshotKind::disk;
  Isolation isolation = Isolation::none;
  uint64_t bytes = 0;
  uint64_t left_out = 0;
  std::map<std::string, std::string> labels;
  Resources resources;
  std::string template_;
  std::string image;
  std::string runtime;
  std::string home;
  Persistence persistence = Persistence::ephemeral;
  std::string layer;
  std::string checkpoint_of;
  int64_t checkpoint = 0;
  bool is_shared = false;
};
BOOST_DESCRIBE_STRUCT(KeptFacts, (),
                      (kind, isolation, bytes, left_out, labels, resources, template_, image,
                       runtime, home, persistence, layer, checkpoint_of, checkpoint, is_shared))

store::SnapshotRow to_row(const SnapshotView& view) {
  const KeptFacts facts{view.kind,          view.isolation,  view.bytes,         view.left_out,
                        view.labels,        view.resources,  view.template_name, view.image,
                        view.runtime,       view.home,       view.persistence,   view.layer,
                        view.checkpoint_of, view.checkpoint, view.is_shared};
  return {.id = view.id,
          .tenant = view.tenant,
          .owner = view.owner,
          .name = view.name,
          .state = std::string(json::name_of(view.state)),
          .driver = view.driver,
          .sandbox = view.sandbox,
          .facts = json::encode(facts),
          .created_at_ms = view.created_at.time_since_epoch().count()};
}

// What makes no sense is left alone: perhaps a newer daemon wrote it.
std::optional<SnapshotView> from_row(const store::SnapshotRow& row) {
  const auto state = json::find_enum<SnapshotState>(row.state);
  auto facts = json::decode<KeptFacts>(row.facts);
  if (!state || !facts) return std::nullopt;
  return SnapshotView{.id = row.id,
                      .name = row.name,
                      .tenant = row.tenant,
                      .owner = row.owner,
                      .state = *state,
                      .kind = facts->kind,
                      .driver = row.driver,
                      .sandbox = row.sandbox,
                      .isolation = facts->isolation,
                      .bytes = facts->bytes,
                      .left_out = facts->left_out,
                      .labels = std::move(facts->labels),
                      .resources = facts->resources,
                      .template_name = std::move(facts->template_),
                      .image = std::move(facts->image),
                      .runtime = std::move(facts->runtime),
                      .home = std::move(facts->home),
                      .persistence = facts->persistence,
                      .created_at = WallTime(Millis(row.created_at_ms)),
                      .layer = std::move(facts->layer),
                      .checkpoint_of = std::move(facts->checkpoint_of),
                      .checkpoint = facts->checkpoint,
                      .is_shared = facts->is_shared};
}

SnapshotPtr make_record(const SandboxRecord& of, WallTime now) {
  auto snapshot = std::make_shared<SnapshotRecord>();
  SnapshotView& view = snapshot->view;
  view.id = make_snapshot_id();
  view.tenant = of.tenant;
  view.owner = of.owner;
  view.driver = of.driver;
  view.sandbox = of.id;
  view.isolation = of.isolation;
  view.resources = of.resources;
  view.template_name = of.asked.template_;
  view.image = of.asked.image;
  view.runtime = of.asked.runtime;
  view.home = of.asked.home;
  view.persistence = of.asked.persistence;
  view.created_at = now;
  snapshot->is_busy = true;
  return snapshot;
}

bool is_there(const SnapshotRecord& snapshot) {
  return !snapshot.is_fork && snapshot.view.layer.empty() &&
         snapshot.view.state != SnapshotState::dropping;
}

}  // namespace

Error lost(const SnapshotView& snapshot) {
  return Error(Code::not_found, "driver " + snapshot.driver + " has lost snapshot " + snapshot.id)
      .with_hint("somebody has removed it there; remove it here, too");
}

Snapshots::Snapshots(store::Store& store, DriverTable& drivers, telemetry::Metrics& metrics,
                     const Clock& clock, const EngineOptions& options)
    : store_(store), drivers_(drivers), metrics_(metrics), clock_(clock), options_(options) {}

void Snapshots::load(const std::vector<store::SnapshotRow>& rows) {
  for (const auto& row : rows) {
    auto view = from_row(row);
    auto snapshot = std::make_shared<SnapshotRecord>();
    const bool is_readable = view.has_value();
    if (is_readable) {
      snapshot->view = *std::move(view);
    } else {
      telemetry::log_error("a snapshot of the store is unreadable", {{"snapshot", row.id}});
      // Known, so that it is not swept away; shown to nobody.
      snapshot->view.id = row.id;
      snapshot->is_fork = snapshot->is_busy = true;
    }
    // Nobody was told of it, and nobody knows how far it came.
    if (is_readable && snapshot->view.state == SnapshotState::making)
      snapshot->view.state = SnapshotState::dropping;
    metrics_.snapshots.at(json::name_of(snapshot->view.state)).add(1);
    by_id_[row.id] = std::move(snapshot);
  }
}

Task<SnapshotPtr> Snapshots::begin(const SandboxRecord& of, std::string owner, SnapshotAsk ask) {
  if (!ask.name.empty()) {
    auto named = check_snapshot_name(ask.name);
    if (!named) co_return std::move(named).error().with("name");
    for (const auto& [id, other] : by_id_) {
      if (is_there(*other) && other->view.tenant == of.tenant && other->view.name == ask.name)
        co_return Error(Code::already_exists, "a snapshot is called " + ask.name + " already")
            .with_hint("use another name, or remove that one first");
    }
  }
  if (count_of(of.tenant) >= options_.most_snapshots_per_tenant) co_return too_many(of.tenant);
  auto snapshot = make_record(of, clock_.wall());
  snapshot->view.owner = std::move(owner);
  snapshot->view.name = std::move(ask.name);
  snapshot->view.kind = ask.kind;
  snapshot->view.labels = std::move(ask.labels);
  co_return co_await insert(std::move(snapshot));
}

Error Snapshots::too_many(const std::string& tenant) const {
  return Error(Code::resource_exhausted, "this tenant has " + std::to_string(count_of(tenant)) +
                                             " snapshots, which is the limit")
      .with_hint("remove some: atoll snapshot rm");
}

Task<SnapshotPtr> Snapshots::begin_checkpoint(const SandboxRecord& of, SnapshotKind kind) {
  const auto others = checkpoints_of(of.tenant, of.name);
  const size_t going = others.size() >= kMostCheckpoints ? 1 : 0;
  if (count_of(of.tenant) - going >= options_.most_snapshots_per_tenant)
    co_return too_many(of.tenant);
  auto checkpoint = make_record(of, clock_.wall());
  checkpoint->view.kind = kind;
  checkpoint->view.checkpoint_of = of.name;
  checkpoint->view.is_shared = is_for_all(of.asked.scope);
  checkpoint->view.checkpoint = others.empty() ? 1 : others.front()->view.checkpoint + 1;
  co_return co_await insert(std::move(checkpoint));
}

Task<> Snapshots::trim_checkpoints(std::string tenant, std::string name) {
  const auto all = checkpoints_of(tenant, name);
  for (size_t i = kMostCheckpoints; i < all.size(); ++i) {
    const auto dropped = co_await drop(all[i]);
    static_cast<void>(dropped);  // the sweeper tries again
  }
  co_return Result<>();
}

SnapshotPtr Snapshots::find_checkpoint(std::string_view tenant, std::string_view name) const {
  const auto all = checkpoints_of(tenant, name);
  return all.empty() ? nullptr : all.front();
}

std::vector<SnapshotPtr> Snapshots::checkpoints_of(std::string_view tenant,
                                                   std::string_view name) const {
  std::vector<SnapshotPtr> all;
  for (const auto& [id, snapshot] : by_id_) {
    const SnapshotView& view = snapshot->view;
    const bool is_whole = view.state == SnapshotState::ready || view.state == SnapshotState::lost;
    if (is_whole && !name.empty() && view.checkpoint_of == name && view.tenant == tenant)
      all.push_back(snapshot);
  }
  std::ranges::sort(all, std::greater(),
                    [](const SnapshotPtr& one) { return one->view.checkpoint; });
  return all;
}

Task<SnapshotPtr> Snapshots::begin_fork(const SandboxRecord& of) {
  auto snapshot = make_record(of, clock_.wall());
  snapshot->is_fork = true;
  co_return co_await insert(std::move(snapshot));
}

Task<SnapshotPtr> Snapshots::begin_layer(const SandboxRecord& of, std::string key) {
  std::vector<SnapshotPtr> others;  // that stay
  std::vector<SnapshotPtr> going;
  for (const auto& [id, snapshot] : by_id_) {
    const SnapshotView& view = snapshot->view;
    if (view.layer.empty() || view.tenant != of.tenant || view.state == SnapshotState::dropping)
      continue;
    if (is_outdated(*snapshot)) {
      going.push_back(snapshot);
    } else if (view.layer == key && view.driver == of.driver) {
      co_return SnapshotPtr();
    } else if (view.state == SnapshotState::ready) {
      others.push_back(snapshot);
    }
  }
  std::ranges::sort(others, {}, [](const SnapshotPtr& one) {
    return std::tuple(one->used_at, one->view.created_at, one->view.id);
  });
  for (size_t i = 0; i + kMostLayersPerTenant <= others.size(); ++i) going.push_back(others[i]);
  auto layer = make_record(of, clock_.wall());
  layer->view.layer = std::move(key);
  layer->used_at = clock_.boot();
  CO_TRY(auto inserted, co_await insert(std::move(layer)));
  for (const auto& old : going) {
    const auto dropped = co_await drop(old);
    static_cast<void>(dropped);  // the sweeper tries again
  }
  co_return inserted;
}

std::shared_ptr<const SnapshotView> Snapshots::use_layer(const std::string& tenant,
                                                         const std::string& driver,
                                                         const std::string& key) {
  for (const auto& [id, snapshot] : by_id_) {
    const SnapshotView& view = snapshot->view;
    const bool fits = view.layer == key && view.tenant == tenant && view.driver == driver &&
                      view.state == SnapshotState::ready && !is_outdated(*snapshot);
    if (!fits) continue;
    ++snapshot->users;
    snapshot->used_at = clock_.boot();
    return {&snapshot->view, [held = snapshot](const SnapshotView*) { --held->users; }};
  }
  return nullptr;
}

bool Snapshots::is_outdated(const SnapshotRecord& layer) const {
  if (layer.view.layer.empty() || layer.view.state == SnapshotState::making) return false;
  return layer.view.state == SnapshotState::lost ||
         layer.view.created_at + kLayerLife <= clock_.wall();
}

Task<SnapshotPtr> Snapshots::insert(SnapshotPtr snapshot) {
  metrics_.snapshots.at(json::name_of(snapshot->view.state)).add(1);
  by_id_[snapshot->view.id] = snapshot;
  auto written = co_await write(*snapshot);
  if (written) co_return snapshot;
  metrics_.snapshots.at(json::name_of(snapshot->view.state)).add(-1);
  by_id_.erase(snapshot->view.id);
  co_return std::move(written).error().at_stage("intent");
}

Task<> Snapshots::write(const SnapshotRecord& snapshot) {
  store::Transaction transaction{store::Durability::disk,
                                 {store::PutSnapshot{to_row(snapshot.view)}}};
  co_return co_await store_.commit(std::move(transaction));
}

Task<> Snapshots::finish(SnapshotPtr snapshot, SnapshotFacts facts) {
  snapshot->view.bytes = facts.bytes;
  snapshot->view.left_out = facts.left_out;
  SnapshotRecord ready = *snapshot;
  ready.view.state = SnapshotState::ready;
  CO_TRY_OK(co_await write(ready));
  set_state(*snapshot, SnapshotState::ready);
  snapshot->is_busy = false;
  co_return Result<>();
}

Task<> Snapshots::drop(SnapshotPtr snapshot) {
  set_state(*snapshot, SnapshotState::dropping);
  snapshot->is_busy = false;
  auto written = co_await write(*snapshot);
  if (!written) {
    // It goes all the same, and if it does not, the next daemon finds a row and the thing itself.
    telemetry::log_error("the end of a snapshot could not be written",
                         {{"snapshot", snapshot->view.id}, {"why", written.error().message()}});
  }
  co_return co_await drop_on_driver(std::move(snapshot));
}

Task<> Snapshots::drop_on_driver(SnapshotPtr snapshot) {
  // Sandboxes are being made from it, or somebody is at it already; the sweeper comes back.
  if (snapshot->is_busy || snapshot->users > 0) co_return Result<>();
  CO_TRY(DriverSlot * slot, drivers_.get_ready(snapshot->view.driver));
  snapshot->is_busy = true;
  const std::string id = snapshot->view.id;
  auto dropped = co_await slot->driver->drop_snapshot(id);
  snapshot->is_busy = false;
  if (!dropped && dropped.error().code() == Code::conflict) co_return Result<>();
  if (!dropped) co_return std::move(dropped).error().with("dropping snapshot " + id);
  store::Transaction transaction{store::Durability::disk, {store::DropSnapshot{id}}};
  CO_TRY_OK(co_await store_.commit(std::move(transaction)));
  metrics_.snapshots.at(json::name_of(snapshot->view.state)).add(-1);
  by_id_.erase(id);
  co_return Result<>();
}

void Snapshots::set_state(SnapshotRecord& snapshot, SnapshotState state) {
  metrics_.snapshots.at(json::name_of(snapshot.view.state)).add(-1);
  snapshot.view.state = state;
  metrics_.snapshots.at(json::name_of(state)).add(1);
}

bool Snapshots::is_shown(const Caller& caller, const SnapshotRecord& snapshot) const {
  const SnapshotView& view = snapshot.view;
  return is_there(snapshot) && sees(caller, view.tenant, view.owner, view.id);
}

Result<SnapshotPtr> Snapshots::get(const Caller& caller, std::string_view id_or_name) const {
  const auto found = by_id_.find(std::string(id_or_name));
  if (found != by_id_.end() && is_shown(caller, *found->second)) return found->second;
  for (const auto& [id, snapshot] : by_id_) {
    const SnapshotView& view = snapshot->view;
    if (!id_or_name.empty() && view.name == id_or_name && view.tenant == caller.tenant &&
        is_shown(caller, *snapshot)) {
      return snapshot;
    }
  }
  return Error(Code::not_found, "no snapshot " + to_printable(id_or_name.substr(0, 80)))
      .with_hint("list them: atoll snapshot ls");
}

Result<std::shared_ptr<const SnapshotView>> Snapshots::use(const Caller& caller,
                                                           std::string_view id_or_name) const {
  TRY(auto snapshot, get(caller, id_or_name));
  if (snapshot->view.state == SnapshotState::making) {
    return Error(Code::conflict, "snapshot " + snapshot->view.id + " is not ready yet")
        .with_hint("try again in a moment");
  }
  if (snapshot->view.state == SnapshotState::lost) return lost(snapshot->view);
  ++snapshot->users;
  return std::shared_ptr<const SnapshotView>(
      &snapshot->view, [snapshot](const SnapshotView*) { --snapshot->users; });
}

std::vector<SnapshotView> Snapshots::list(const Caller& caller, std::string_view sandbox) const {
  std::vector<SnapshotView> views;
  for (const auto& [id, snapshot] : by_id_) {
    if (!is_shown(caller, *snapshot)) continue;
    if (sandbox.empty() || snapshot->view.sandbox == sandbox) views.push_back(snapshot->view);
  }
  std::ranges::sort(views, [](const SnapshotView& a, const SnapshotView& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  });
  return views;
}

size_t Snapshots::count_of(std::string_view tenant) const {
  return static_cast<size_t>(std::ranges::count_if(by_id_, [&](const auto& entry) {
    return is_there(*entry.second) && entry.second->view.tenant == tenant;
  }));
}

Task<> Snapshots::drop_waiting(DriverSlot& slot) {
  std::vector<SnapshotPtr> outdated;
  for (const auto& [id, snapshot] : by_id_) {
    if (is_outdated(*snapshot) && snapshot->view.driver == slot.name() &&
        snapshot->view.state != SnapshotState::dropping)
      outdated.push_back(snapshot);
  }
  for (const auto& layer : outdated) {
    const auto dropped = co_await drop(layer);
    static_cast<void>(dropped);  // it waits with the others then
  }
  std::vector<SnapshotPtr> waiting;
  for (const auto& [id, snapshot] : by_id_) {
    if (snapshot->view.state == SnapshotState::dropping && !snapshot->is_busy &&
        snapshot->view.driver == slot.name()) {
      waiting.push_back(snapshot);
    }
  }
  while (!waiting.empty()) {
    auto snapshot = std::move(waiting.back());
    waiting.pop_back();
    const std::string id = snapshot->view.id;
    auto dropped = co_await drop_on_driver(std::move(snapshot));
    if (!dropped) {
      telemetry::log_warn("a snapshot could not be dropped, the sweeper will try again",
                          {{"snapshot", id}, {"why", dropped.error().message()}});
    }
  }
  co_return Result<>();
}

Task<std::set<std::string>> Snapshots::judge(DriverSlot& slot) {
  // Taken before asking: what is finished meanwhile is not judged by an answer that cannot know it.
  std::vector<SnapshotPtr> judged;
  for (const auto& [id, snapshot] : by_id_) {
    const SnapshotState state = snapshot->view.state;
    const bool is_settled = state == SnapshotState::ready || state == SnapshotState::lost;
    if (is_settled && snapshot->view.driver == slot.name()) judged.push_back(snapshot);
  }
  CO_TRY(const auto broken, co_await slot.driver->list_broken_snapshots());
  CO_TRY(const auto listed, co_await slot.driver->list_snapshots());
  std::set<std::string> there(listed.begin(), listed.end());
  for (const auto& snapshot : judged) {
    const SnapshotState state = snapshot->view.state;
    const std::string& id = snapshot->view.id;
    const bool is_lost = !there.contains(id) || std::ranges::find(broken, id) != broken.end();
    if (state == SnapshotState::ready && is_lost) {
      telemetry::log_error("a snapshot is gone from its driver",
                           {{"snapshot", id}, {"driver", slot.driver->name()}});
      set_state(*snapshot, SnapshotState::lost);
    } else if (state == SnapshotState::lost && !is_lost) {
      set_state(*snapshot, SnapshotState::ready);
    }
  }
  co_return there;
}

Task<> Snapshots::sweep(DriverSlot& slot, Unknown unknown) {
  const bool has_any = slot.capabilities->snapshot || slot.capabilities->fork;
  if (!has_any) co_return Result<>();
  CO_TRY_OK(co_await drop_waiting(slot));
  const auto there = co_await judge(slot);
  if (!there) {
    telemetry::log_warn("driver cannot list its snapshots",
                        {{"driver", slot.driver->name()}, {"why", there.error().message()}});
    co_return Result<>();
  }
  const auto seen_before = std::exchange(suspects_[slot.name()], {});
  std::set<std::string> unknown_here;
  for (const auto& id : *there)
    if (!by_id_.contains(id)) unknown_here.insert(id);
  if (unknown_here.empty()) co_return Result<>();
  const auto doubtful = co_await slot.driver->list_doubtful_snapshots();
  if (!doubtful) {
    suspects_[slot.name()] = std::move(unknown_here);
    co_return Result<>();
  }
  for (const auto& id : *doubtful) unknown_here.erase(id);
  for (const auto& id : unknown_here) {
    // Known by now.
    if (by_id_.contains(id)) continue;
    if (unknown == Unknown::when_seen_twice && !seen_before.contains(id)) {
      suspects_[slot.name()].insert(id);
      continue;
    }
    auto dropped = co_await slot.driver->drop_snapshot(id);
    if (dropped) {
      metrics_.swept_orphans.at(slot.driver->name()).add();
      telemetry::log_warn("orphan dropped", {{"driver", slot.driver->name()}, {"snapshot", id}});
    } else {
      suspects_[slot.name()].insert(id);
    }
  }
  co_return Result<>();
}

}  // namespace atl
