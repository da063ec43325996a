// /v1/keys: who may call; POST /v1/sandboxes/{id}/token: a token for one sandbox.
#include "core/keys.h"

#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

struct WireKey {
  static constexpr std::string_view kSchema = "CreateKey";
  std::optional<std::string> tenant;
  Role role = Role::member;
  std::optional<std::string> label;
  std::optional<int64_t> ttl_s;
};
BOOST_DESCRIBE_STRUCT(WireKey, (), (tenant, role, label, ttl_s))

constexpr openapi::Field kKeyFields[] = {
    {"tenant", "Absent: one's own.", {}, openapi::kNamePattern},
    {"role"},
    {"label", "What it is for; one line.", {.most = int64_t{kMostKeyLabel}}},
    {"ttl_s", "Absent: until it is revoked.", {.least = 1, .most = kLongestKeyLife.count()}},
};

struct WireToken {
  static constexpr std::string_view kSchema = "MakeToken";
  std::optional<int64_t> ttl_s;
  std::optional<TokenMode> mode;
};
BOOST_DESCRIBE_STRUCT(WireToken, (), (ttl_s, mode))

constexpr openapi::Field kTokenFields[] = {
    {"ttl_s", "", {.least = 1, .most = kLongestTokenLife.count()}, R"({"default":3600})"},
    {"mode",
     "`read`: for viewers, who see files, output and what there is, and change nothing.",
     {},
     R"({"default":"use"})"},
};

std::optional<std::chrono::seconds> to_seconds(std::optional<int64_t> count) {
  if (!count) return std::nullopt;
  return std::chrono::seconds(*count);
}

void append_time(ObjectWriter& object, std::string_view name, const std::optional<WallTime>& time) {
  if (time) {
    object.member(name, to_rfc3339(*time));
  } else {
    object.null(name);
  }
}

void append_key(ObjectWriter& object, const ApiKey& key) {
  object.member("id", key.id);
  object.member("tenant", key.tenant);
  object.member("role", key.role);
  object.member("label", key.label);
  object.member("created_at", to_rfc3339(key.created_at));
  append_time(object, "expires_at", key.expires_at);
  append_time(object, "last_used_at", key.last_used_at);
}

// A secret that is told once is not kept by anything on the way either.
Task<> answer_secret(Call& call, std::string json) {
  net::Response response;
  response.status = 201;
  response.headers = call.headers("application/json");
  response.headers.add("Cache-Control", "no-store");
  response.body = std::move(json);
  co_return co_await call.answer_with(std::move(response));
}

}  // namespace

void describe_key_requests(openapi::Schemas& schemas) {
  schemas.add<WireKey, kKeyFields>(
      R"({"examples":[{"role":"agent","tenant":"search","label":"nightly evaluation","ttl_s":86400}]})");
  schemas.add<WireToken, kTokenFields>();
}

Task<> create_key(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireKey>(call, kMostJson));
  KeyRequest request;
  request.tenant = std::move(wire.tenant).value_or(call.caller().tenant);
  request.role = wire.role;
  request.label = std::move(wire.label).value_or("");
  request.ttl = to_seconds(wire.ttl_s);
  CO_TRY(const auto made, co_await call.keys().create(std::move(request)));
  std::string json;
  ObjectWriter object(json);
  append_key(object, made.key);
  object.member("key", made.token);
  object.close();
  co_return co_await answer_secret(call, std::move(json));
}

Task<> list_keys(Call& call) {
  std::string json;
  ObjectWriter object(json);
  object.key("keys") += '[';
  for (const auto& key : call.keys().list()) {
    if (json.back() != '[') json += ',';
    ObjectWriter one(json);
    append_key(one, key);
    one.close();
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> revoke_key(Call& call) {
  CO_TRY_OK(co_await call.keys().revoke(call.request().segments[2]));
  co_return co_await call.answer_nothing();
}

Task<> make_token(Call& call) {
  CO_TRY(const auto wire, co_await read_optional_json<WireToken>(call));
  CO_TRY(const auto made, call.tokens().make(call.caller(), call.sandbox(), to_seconds(wire.ttl_s),
                                             wire.mode.value_or(TokenMode::use)));
  std::string json;
  ObjectWriter object(json);
  object.member("token", made.token);
  object.member("sandbox", made.sandbox);
  object.member("expires_at", to_rfc3339(made.expires_at));
  object.close();
  co_return co_await answer_secret(call, std::move(json));
}

}  // namespace atl::api::v1
