#include "core/sandbox_record.h"

#include "json/json.h"

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

}  // namespace

Asked to_asked(const CreateRequest& request) {
  Asked asked;
  asked.driver = request.driver;
  asked.profile = request.profile.empty() ? "default" : request.profile;
  asked.user_id = request.user_id;
  if (request.ttl) asked.ttl_s = request.ttl->count();
  if (request.idle) asked.idle_s = request.idle->count();
  asked.labels = request.labels;
  for (const auto& [name, value] : request.env) asked.env_names.push_back(name);
  asked.resources = request.resources;
  asked.min_isolation = request.min_isolation;
  asked.placement = request.placement;
  if (request.workspace) asked.workspace = to_asked(*request.workspace);
  for (const auto& mount : request.mounts) asked.mounts.push_back(to_asked(mount));
  if (request.root) asked.root = to_asked(*request.root);
  asked.template_ = request.template_name;
  asked.user = request.defaults.user;
  asked.cwd = request.defaults.cwd;
  asked.files = fingerprint(request.files);
  return asked;
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
}

std::optional<Micros> SandboxRecord::deadline() const {
  if (is_doomed || ended_at || state == State::stopping) return std::nullopt;
  std::optional<Micros> earliest;
  if (expires_boot.count() != 0) earliest = expires_boot;
  if (idle && leases == 0 && state == State::running) {
    const Micros idle_end = last_active_boot + *idle;
    if (!earliest || idle_end < *earliest) earliest = idle_end;
  }
  return earliest;
}

SandboxView SandboxRecord::view() const {
  return {.id = id,
          .name = name,
          .tenant = tenant,
          .owner = owner,
          .state = state,
          .driver = driver,
          .isolation = isolation,
          .placement = placement,
          .profile = asked.profile,
          .user_id = asked.user_id,
          .labels = asked.labels,
          .resources = resources,
          .defaults = asked.defaults(),
          .template_name = asked.template_,
          .created_at = created_at,
          .expires_at = expires_at,
          .idle = idle,
          .last_active_at = last_active_at,
          .failure = failure,
          .stages = stages};
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
  row.spec = json::encode(record.asked);
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
    TRY(record->resources, json::decode<Resources>(row.resources));
    TRY(record->asked, json::decode<Asked>(row.spec));
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
  note(had.driver == has.driver, "driver");
  note(had.profile == has.profile, "profile");
  note(had.user_id == has.user_id, "user_id");
  note(had.ttl_s == has.ttl_s, "ttl_s");
  note(had.idle_s == has.idle_s, "idle_s");
  note(had.labels == has.labels, "labels");
  note(had.env_names == has.env_names && (!record.env || *record.env == request.env), "env");
  note(had.resources == has.resources, "resources");
  note(had.min_isolation == has.min_isolation, "min_isolation");
  note(had.placement == has.placement, "placement");
  note(had.workspace == has.workspace, "workspace");
  note(had.mounts == has.mounts, "mounts");
  note(had.template_ == has.template_, "template");
  const bool same_template = !had.template_.empty() && had.template_ == has.template_;
  note(had.root == has.root, same_template ? "template (it has changed since)" : "rootfs");
  note(had.user == has.user, "user");
  note(had.cwd == has.cwd, "cwd");
  note(had.files == has.files, "files");
  return fields;
}

}  // namespace atl
