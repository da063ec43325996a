#include "api/openapi/document.h"

#include <cctype>

#include "api/openapi/requests.h"
#include "api/route.h"
#include "base/check.h"
#include "crypto/hash.h"
#include "json/write.h"

namespace atl::api::openapi {
namespace {

constexpr size_t kMostOperations = size_t{4} << 20;

boost::json::string_view to_boost(std::string_view text) { return {text.data(), text.size()}; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// What a call needs stands beside its name.
json::Object with_action(const json::Object& operation, const Route& route) {
  json::Object out;
  for (const auto& member : operation) {
    out.insert(member);
    if (member.key() != "operationId") continue;
    out["x-action"] = to_boost(json::name_of(route.action));
    if (route.action == Action::open) out["security"] = json::Array();
  }
  return out;
}

void add_actions(json::Object& paths) {
  for (const Route& route : all_routes()) {
    auto* path = paths.if_contains(to_boost(route.pattern));
    if (path == nullptr) continue;
    auto* operation = path->as_object().if_contains(to_boost(lower(net::to_string(route.method))));
    if (operation != nullptr) *operation = with_action(operation->as_object(), route);
  }
}

// By name, whoever wrote them.
void add_schemas(json::Object& components) {
  auto all = request_schemas().all();
  for (const auto& answer : components.at("schemas").as_object()) {
    all.emplace(answer.key(), answer.value());
  }
  json::Object sorted;
  for (const auto& [name, schema] : all) sorted[to_boost(name)] = schema;
  components["schemas"] = std::move(sorted);
}

Published publish() {
  Published out;
  json::write_value(out.json, make_document());
  out.etag = '"' + crypto::sha256_hex(out.json).substr(0, 16) + '"';
  return out;
}

}  // namespace

Schemas request_schemas() {
  Schemas schemas;
  add_shared_types(schemas);
  v1::describe_archive_requests(schemas);
  v1::describe_batch_requests(schemas);
  v1::describe_daemon_requests(schemas);
  v1::describe_exec_requests(schemas);
  v1::describe_file_requests(schemas);
  v1::describe_key_requests(schemas);
  v1::describe_lifecycle_requests(schemas);
  v1::describe_pool_requests(schemas);
  v1::describe_process_requests(schemas);
  v1::describe_run_requests(schemas);
  v1::describe_sandbox_requests(schemas);
  v1::describe_snapshot_requests(schemas);
  v1::describe_session_requests(schemas);
  return schemas;
}

json::Value make_document() {
  auto document = json::parse(operations_json(), {.max_bytes = kMostOperations});
  ATOLL_CHECK(document.has_value());
  auto& members = document->as_object();
  add_actions(members.at("paths").as_object());
  add_schemas(members.at("components").as_object());
  return *std::move(document);
}

const Published& published() {
  static const Published made = publish();
  return made;
}

}  // namespace atl::api::openapi
