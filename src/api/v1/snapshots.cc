// /v1/snapshots, and how they are taken: what is kept of sandboxes.
#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"
#include "core/request_check.h"
#include "template/templates.h"

namespace atl::api::v1 {
namespace {

struct WireSnapshot {
  static constexpr std::string_view kSchema = "CreateSnapshot";
  std::optional<std::string> name;
  std::optional<SnapshotKind> kind;
  std::optional<std::map<std::string, std::string>> labels;
};
BOOST_DESCRIBE_STRUCT(WireSnapshot, (), (name, kind, labels))

constexpr openapi::Field kFields[] = {
    {"name", "Unique within the tenant.", {}, openapi::kNamePattern},
    {"kind", "Files, or processes and their memory, too.", {}, R"({"default":"disk"})"},
    {"labels", "", {.most = int64_t{kMostLabels}}},
};

void append_snapshot(std::string& out, const SnapshotView& view) {
  ObjectWriter object(out);
  object.member("id", view.id);
  object.member("name", view.name);
  object.member("tenant", view.tenant);
  object.member("owner", view.owner);
  object.member("state", view.state);
  object.member("kind", view.kind);
  object.member("driver", view.driver);
  object.member("isolation", view.isolation);
  object.member("sandbox", view.sandbox);
  object.member("bytes", view.bytes);
  object.member("left_out", view.left_out);
  object.member("labels", view.labels);
  object.member("resources", view.resources);
  if (!view.template_name.empty()) object.member("template", view.template_name);
  if (!view.image.empty()) object.member("image", view.image);
  if (!view.runtime.empty()) object.member("runtime", view.runtime);
  if (view.persistence != Persistence::ephemeral) object.member("persistence", view.persistence);
  if (!view.checkpoint_of.empty()) object.member("checkpoint_of", view.checkpoint_of);
  object.member("created_at", to_rfc3339(view.created_at));
  object.close();
}

// The {snapshot} of /v1/snapshots/{snapshot}.
std::string named(const Call& call) { return call.request().segments[2]; }

Task<SnapshotView> take(Call& call) {
  CO_TRY(auto wire, co_await read_optional_json<WireSnapshot>(call));
  SnapshotAsk ask;
  ask.name = std::move(wire.name).value_or("");
  ask.kind = wire.kind.value_or(SnapshotKind::disk);
  if (wire.labels) ask.labels = *std::move(wire.labels);
  co_return co_await call.engine().snapshot(call.caller(), call.sandbox(), std::move(ask));
}

}  // namespace

void describe_snapshot_requests(openapi::Schemas& schemas) {
  schemas.add_names<SnapshotState>(
      "SnapshotState",
      "`lost`: the driver does not have it any more, because somebody has removed it there.");
  schemas.add_names<SnapshotKind>("SnapshotKind", "Files, or processes and their memory, too.");
  schemas.add<WireSnapshot, kFields>();
}

Task<> create_snapshot(Call& call) {
  CO_TRY(const auto view, co_await take(call));
  net::Response response;
  response.status = 201;
  response.headers = call.headers("application/json");
  response.headers.add("Location", "/v1/snapshots/" + view.id);
  append_snapshot(response.body, view);
  co_return co_await call.answer_with(std::move(response));
}

Task<> snapshot_sandbox(Call& call) {
  CO_TRY(const auto view, co_await take(call));
  std::string json;
  ObjectWriter object(json);
  object.member("snapshot", view.id);
  object.close();
  co_return co_await call.answer(201, std::move(json));
}

Task<> list_snapshots(Call& call) {
  std::string json;
  ObjectWriter object(json);
  object.key("snapshots") += '[';
  for (const auto& view :
       call.engine().list_snapshots(call.caller(), call.request().query.get("sandbox"))) {
    if (json.back() != '[') json += ',';
    append_snapshot(json, view);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> get_snapshot(Call& call) {
  CO_TRY(const auto view, call.engine().get_snapshot(call.caller(), named(call)));
  std::string json;
  append_snapshot(json, view);
  co_return co_await call.answer(200, std::move(json));
}

Task<> delete_snapshot(Call& call) {
  CO_TRY_OK(co_await call.engine().drop_snapshot(call.caller(), named(call)));
  co_return co_await call.answer_nothing();
}

void add_snapshots_template(WireCreate& wire, Engine& engine, const Caller& caller,
                            const Templates* templates) {
  if (!wire.snapshot || wire.template_) return;
  const auto from = engine.get_snapshot(caller, *wire.snapshot);
  if (!from || from->template_name.empty()) return;
  const auto reference = parse_template_reference(from->template_name);
  // Whether the snapshot can do without one that is gone, the engine knows.
  const bool is_gone = templates != nullptr && reference && !templates->get(*reference);
  if (!is_gone) wire.template_ = from->template_name;
}

}  // namespace atl::api::v1
