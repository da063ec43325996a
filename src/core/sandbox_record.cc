#include "core/sandbox_record.h"

#include <algorithm>
#include <charconv>

#include "json/encode_sparse.h"
#include "json/json.h"
#include "policy/profile.h"

namespace atl {
namespace {

AskedDirectory to_asked(const HostDirectory& directory) {
  return {directory.host_path, directory.guest_path, directory.access};
}

int64_t to_ms(WallTime time) { return time.time_since_epoch().count(); }
WallTime from_ms(int64_t ms) { return WallTime(Millis(ms)); }

template <typename E>
Result<E> get_enum(const std::string& text) {
  const auto found = json::find_enum<E>(text);
  if (!found) return Error(Code::internal, "the store says " + json::quote(text));
  return *found;
}

Act to_act(OnEnd end) {
  switch (end) {
    case OnEnd::kill:
      return Act::kill;
    case OnEnd::stop:
      return Act::stop;
    case OnEnd::pause:
      return Act::pause;
  }
  return Act::kill;
}

std::optional<WallTime> kept_until(const SandboxRecord& record) {
  if (record.asked.course.keep_s == 0 || !record.expires_at) return std::nullopt;
  return *record.expires_at + std::chrono::seconds(record.asked.course.keep_s);
}

}  // namespace

Asked to_asked(const CreateRequest& request) {
  Asked asked;
  asked.driver = request.driver;
  asked.run_mode = request.run_mode;
  asked.profile = request.profile.empty() ? std::string(policy::kNoProfile) : request.profile;
  asked.user_id = request.user_id;
  if (request.ttl) asked.ttl_s = request.ttl->count();
  if (request.idle) asked.idle_s = request.idle->count();
  asked.on_expire = request.on_expire;
  asked.on_idle = request.on_idle;
  if (request.keep) asked.keep_s = request.keep->count();
  asked.on_failure = request.on_failure;
  asked.scope = request.scope;
  asked.on_last = request.on_last;
  asked.labels = request.labels;
  for (const auto& [name, value] : request.env) asked.env_names.push_back(name);
  asked.resources = request.resources;
  asked.min_isolation = request.min_isolation;
  asked.placement = request.placement;
  asked.driver_labels = request.driver_labels;
  if (request.workspace) asked.workspace = to_asked(*request.workspace);
  for (const auto& mount : request.mounts) asked.mounts.push_back(to_asked(mount));
  if (request.root) asked.root = to_asked(*request.root);
  asked.template_ = request.template_name;
  asked.template_id = request.template_id;
  asked.image = request.image;
  asked.runtime = request.runtime;
  asked.persistence = request.persistence;
  asked.checkpoint = request.checkpoint;
  asked.lifecycle = request.lifecycle;
  asked.network = request.network.value_or(Network::none);
  asked.engine_socket = request.engine_socket;
  asked.mount_roots = request.mount_roots;
  asked.home = request.home;
  asked.snapshot = request.snapshot;
  asked.user = request.defaults.user;
  asked.user_number = number_of_user(request);
  asked.cwd = request.defaults.cwd;
  asked.timeout_ms = request.defaults.timeout.count();
  asked.files = fingerprint(request.files);
  asked.startup = request.startup != nullptr;
  if (request.startup) {
    const policy::Startup& startup = *request.startup;
    asked.start_hooks = startup.after_start && !startup.after_start->empty();
    asked.stop_s = (startup.stop_ms() + 999) / 1'000;
  }
  return asked;
}

std::optional<int64_t> number_of_user(const CreateRequest& request) {
  const std::string& user = request.defaults.user;
  if (request.template_name.empty() || user.empty()) return std::nullopt;
  if (const auto listed = request.root_users.find(user); listed != request.root_users.end()) {
    return listed->second;
  }
  int64_t number = 0;
  const auto [end, trouble] = std::from_chars(user.data(), user.data() + user.size(), number);
  if (trouble != std::errc() || end != user.data() + user.size()) return std::nullopt;
  return number;
}

std::vector<Changes::Copy> copies_of(const Asked& asked) {
  std::vector<Changes::Copy> copies;
  if (asked.root && asked.template_.empty()) copies.push_back({"/", asked.root->host_path});
  if (asked.workspace && asked.workspace->access == HostAccess::cow) {
    copies.push_back({"/workspace", asked.workspace->host_path});
  }
  for (const auto& mount : asked.mounts) {
    if (mount.access == HostAccess::cow) copies.push_back({mount.guest_path, mount.host_path});
  }
  return copies;
}

void fill_in(ExecRequest& request, const ExecDefaults& defaults) {
  if (request.user.empty()) request.user = defaults.user;
  if (request.cwd.empty()) request.cwd = defaults.cwd;
  if (request.timeout.count() == 0) request.timeout = defaults.timeout;
}

std::optional<SandboxRecord::Due> SandboxRecord::due() const {
  if (is_doomed || ended_at || state == State::stopping) return std::nullopt;
  // Its pool ends it.
  if (lifecycle == Lifecycle::pooled) return std::nullopt;
  std::optional<Due> first;
  const auto consider = [&](Due other) {
    if (other.act == Act::stop || other.act == Act::pause || is_kept())
      other.at = std::max(other.at, rest_not_before);
    if (!first || other.at < first->at) first = other;
  };
  if (expires_boot.count() != 0) {
    consider({last_moment(), Act::kill, Rest::expired});
    const OnEnd then = on_expire();
    const bool is_awake =
        state == State::running || (state == State::paused && then == OnEnd::stop);
    if (then != OnEnd::kill && is_awake) consider({expires_boot, to_act(then), Rest::expired});
  }
  if (idle && leases == 0 && state == State::running) {
    consider({last_active_boot + *idle, to_act(on_idle()), Rest::idle});
  }
  if (recover_at.count() != 0) consider({recover_at, Act::revive, Rest::none});
  return first;
}

void SandboxRecord::put_off(Micros now) {
  constexpr Micros kFirstPause = std::chrono::seconds(10);
  constexpr int kMostDoublings = 5;
  rest_not_before = now + kFirstPause * (1 << std::min(failed_rests, kMostDoublings));
  ++failed_rests;
}

void SandboxRecord::put_off_attach(Micros now) {
  constexpr Micros kFirstPause = std::chrono::seconds(1);
  constexpr int kMostDoublings = 6;
  attach_not_before = now + kFirstPause * (1 << std::min(failed_attaches, kMostDoublings));
  ++failed_attaches;
}

std::optional<Micros> SandboxRecord::deadline() const {
  const auto next = due();
  return next ? std::optional(next->at) : std::nullopt;
}

Health SandboxRecord::health() const {
  if (recover_at.count() != 0) return Health::recovering;
  if (state == State::failed) return Health::failed;
  return is_unresponsive && state == State::running ? Health::unresponsive : Health::ok;
}

SandboxView SandboxRecord::view() const {
  const bool is_held = lifecycle == Lifecycle::session &&
                       asked.scope.value_or(SessionScope::session) != SessionScope::session;
  return {.id = id,
          .name = name,
          .tenant = tenant,
          .owner = owner,
          .state = state,
          .lifecycle = is_held ? Lifecycle::workspace : lifecycle,
          .driver = driver,
          .isolation = isolation,
          .placement = placement,
          .run_mode = asked.run_mode,
          .profile = asked.profile,
          .user_id = asked.user_id,
          .labels = asked.labels,
          .resources = resources,
          .defaults = asked.defaults(),
          .template_name = asked.template_,
          .image = asked.image,
          .runtime = asked.runtime,
          .persistence = asked.persistence,
          .checkpoint = is_kept() ? asked.checkpoint.value_or(SnapshotKind::disk)
                                  : std::optional<SnapshotKind>(),
          .network = asked.network,
          .snapshot = asked.snapshot,
          .resets = asked.resets,
          .created_at = created_at,
          .expires_at = expires_at,
          .idle = idle,
          .on_expire = on_expire(),
          .on_idle = on_idle(),
          .kept_until = kept_until(*this),
          .rest = asked.course.rest,
          .on_failure = asked.on_failure.value_or(OnFailure::fail),
          .health = health(),
          .recoveries = asked.course.recoveries,
          .last_active_at = last_active_at,
          .failure = failure,
          .stages = stages,
          .pool = asked.pool,
          .is_parked = lifecycle == Lifecycle::pooled};
}

store::SandboxRow to_row(const SandboxRecord& record, const std::string& boot_id) {
  store::SandboxRow row;
  row.id = record.id;
  row.tenant = record.tenant;
  row.owner = record.owner;
  row.name = record.name;
  row.user_id = record.asked.user_id;
  row.state = json::name_of(record.state);
  row.lifecycle = json::name_of(record.lifecycle);
  row.driver = record.driver;
  row.isolation = json::name_of(record.isolation);
  row.placement = json::name_of(record.placement);
  row.profile = record.asked.profile;
  row.labels = json::encode(record.asked.labels);
  row.resources = json::encode(record.resources);
  row.spec = json::encode_sparse(record.asked);
  row.created_at_ms = to_ms(record.created_at);
  row.expires_at_ms = record.expires_at ? to_ms(*record.expires_at) : 0;
  row.expires_boot_us = record.expires_boot.count();
  row.boot_id = boot_id;
  row.ttl_s = record.ttl.count();
  row.idle_s = record.idle ? record.idle->count() : 0;
  row.last_active_ms = to_ms(record.last_active_at);
  row.ended_at_ms = record.ended_at ? to_ms(*record.ended_at) : 0;
  row.failure = record.failure;
  row.generation = record.generation;
  return row;
}

Result<RecordPtr> from_row(const asio::any_io_executor& executor, const store::SandboxRow& row) {
  const auto decode = [&]() -> Result<RecordPtr> {
    auto record = std::make_shared<SandboxRecord>(executor);
    TRY(record->state, get_enum<State>(row.state));
    TRY(record->lifecycle, get_enum<Lifecycle>(row.lifecycle));
    TRY(record->isolation, get_enum<Isolation>(row.isolation));
    TRY(record->placement, get_enum<Placement>(row.placement));
    if (row.resources != "{}") {
      TRY(record->resources, json::decode<Resources>(row.resources));
    }
    TRY(record->asked, json::decode<Asked>(row.spec));
    // An older daemon called it so when there was no profile; one that there is has its version.
    if (record->asked.profile == "default") record->asked.profile = policy::kNoProfile;
    record->id = row.id;
    record->tenant = row.tenant;
    record->owner = row.owner;
    record->name = row.name;
    record->driver = row.driver;
    record->created_at = from_ms(row.created_at_ms);
    if (row.expires_at_ms != 0) record->expires_at = from_ms(row.expires_at_ms);
    record->expires_boot = Micros(row.expires_boot_us);
    record->ttl = std::chrono::seconds(row.ttl_s);
    if (row.idle_s != 0) record->idle = std::chrono::seconds(row.idle_s);
    record->last_active_at = from_ms(row.last_active_ms);
    if (row.ended_at_ms != 0) record->ended_at = from_ms(row.ended_at_ms);
    record->failure = row.failure;
    record->generation = row.generation;
    record->stages = record->asked.course.stages;
    record->creation->done.fire();
    return record;
  };
  auto record = decode();
  if (!record) {
    return Error(Code::internal, record.error().message()).with("reading sandbox " + row.id);
  }
  return record;
}

std::string differences(const SandboxRecord& record, const CreateRequest& request) {
  const Asked& had = record.asked;
  const Asked has = to_asked(request);
  std::string fields;
  const auto note = [&](bool equal, std::string_view field) {
    if (!equal) fields.append(fields.empty() ? "" : ", ").append(field);
  };
  // What it has from the checkpoint that it began with the request need not say again.
  const bool goes_on = record.is_kept() && !had.snapshot.empty() && has.snapshot.empty();
  const auto same = [&](const std::string& mine, const std::string& theirs) {
    return mine == theirs || (goes_on && theirs.empty());
  };
  note(same(had.driver, has.driver), "driver");
  note(had.run_mode == has.run_mode, "run_mode");
  note(had.profile == has.profile, "profile");
  note(had.user_id == has.user_id, "user_id");
  note(had.ttl_s == has.ttl_s, "ttl_s");
  note(had.idle_s == has.idle_s, "idle_s");
  note(had.on_expire == has.on_expire, "on_expire");
  note(had.on_idle == has.on_idle, "on_idle");
  note(had.keep_s == has.keep_s, "keep_s");
  note(had.on_failure == has.on_failure, "on_failure");
  note(had.scope == has.scope, "scope");
  // Who does not say what becomes of it in the end joins it as it is.
  note(!has.on_last || had.on_last.value_or(OnEnd::kill) == *has.on_last, "on_last");
  note(had.labels == has.labels, "labels");
  note(had.env_names == has.env_names && (!record.env || *record.env == request.env), "env");
  note(had.resources == has.resources, "resources");
  note(had.min_isolation == has.min_isolation, "min_isolation");
  note(had.placement == has.placement, "placement");
  note(had.driver_labels == has.driver_labels, "driver_labels");
  note(had.workspace == has.workspace, "workspace");
  note(had.mounts == has.mounts, "mounts");
  note(had.template_ == has.template_, "template");
  const bool same_template = !had.template_.empty() && had.template_ == has.template_;
  note(had.root == has.root, same_template ? "template (it has changed since)" : "rootfs");
  note(same(had.image, has.image), "image");
  note(same(had.runtime, has.runtime), "runtime");
  note(had.persistence == has.persistence, "persistence");
  note(had.checkpoint == has.checkpoint, "checkpoint");
  note(had.lifecycle.value_or(Life::session) == has.lifecycle.value_or(Life::session), "lifecycle");
  note(had.network == has.network, "network");
  note(same(had.snapshot, has.snapshot), "snapshot");
  note(had.user == has.user, "user");
  note(had.cwd == has.cwd, "cwd");
  note(had.timeout_ms == has.timeout_ms, "timeout_ms");
  note(had.files == has.files, "files");
  return fields;
}

}  // namespace atl
