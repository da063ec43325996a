// /v1/sessions: somebody's hold on a sandbox that others may hold, too.
#include "core/sessions.h"

#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"

namespace atl::api::v1 {
namespace {

struct WireSession {
  static constexpr std::string_view kSchema = "OpenSession";
  std::optional<SessionScope> scope;
  std::optional<std::string> key;
  std::optional<int64_t> ttl_s;
  std::optional<OnEnd> on_last;
  std::optional<WireCreate> sandbox;
};
BOOST_DESCRIBE_STRUCT(WireSession, (), (scope, key, ttl_s, on_last, sandbox))

struct WireRenewSession {
  static constexpr std::string_view kSchema = "RenewSession";
  std::optional<int64_t> ttl_s;
};
BOOST_DESCRIBE_STRUCT(WireRenewSession, (), (ttl_s))

constexpr openapi::Field kSessionFields[] = {
    {"scope", "Who shares the sandbox. Absent: as the profile says, or `session`."},
    {"key",
     "The name of the workspace, or of the agent; absent for an agent it is the caller, for "
     "`shared` "
     "it is `all`.",
     {.most = 53}},
    {"ttl_s",
     "It ends when nobody renews it for so long.",
     {.least = kShortestSessionLife.count(), .most = kLongestSessionLife.count()},
     R"({"default":300})"},
    {"on_last",
     "What becomes of the sandbox when the last session lets go; settled when it is made.",
     {},
     R"({"default":"kill"})"},
    {"sandbox",
     "How it is made if it is not there. If it is there it must be the same; absent, it is taken "
     "as "
     "it is."},
};
constexpr openapi::Field kRenewSessionFields[] = {
    {"ttl_s",
     "Absent: as it was.",
     {.least = kShortestSessionLife.count(), .most = kLongestSessionLife.count()}},
};

std::optional<std::chrono::seconds> to_seconds(std::optional<int64_t> count) {
  if (!count) return std::nullopt;
  return std::chrono::seconds(*count);
}

void append_session(std::string& out, const SessionView& view) {
  ObjectWriter object(out);
  object.member("id", view.id);
  object.member("tenant", view.tenant);
  object.member("owner", view.owner);
  object.member("scope", view.scope);
  object.member("key", view.key);
  object.member("sandbox", view.sandbox);
  object.member("holders", static_cast<int64_t>(view.holders));
  object.member("created_at", to_rfc3339(view.created_at));
  object.member("expires_at", to_rfc3339(view.expires_at));
  object.close();
}

Task<> answer_session(Call& call, int status, SessionView view) {
  std::string json;
  append_session(json, view);
  co_return co_await call.answer(status, std::move(json));
}

// The {session} of /v1/sessions/{session}.
std::string named(const Call& call) { return call.request().segments[2]; }

}  // namespace

void describe_session_requests(openapi::Schemas& schemas) {
  schemas.add<WireSession, kSessionFields>(
      R"({"examples":[{"scope":"workspace","key":"web","on_last":"stop"}]})");
  schemas.add<WireRenewSession, kRenewSessionFields>();
}

Task<> open_session(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireSession>(call, kMostCreateJson));
  SessionAsk ask{
      .scope = wire.scope, .key = std::move(wire.key).value_or(""), .ttl = to_seconds(wire.ttl_s)};
  std::optional<CreateRequest> request;
  if (wire.on_last && !wire.sandbox) wire.sandbox.emplace();
  if (wire.sandbox) {
    add_snapshots_template(*wire.sandbox, call.engine(), call.caller(), call.templates());
    CO_TRY(request, to_request(*std::move(wire.sandbox), call.visitor().seat, call.templates(),
                               &call.engine().profiles()));
    request->on_last = wire.on_last;
  }
  CO_TRY(auto view,
         co_await call.engine().open_session(call.caller(), std::move(ask), std::move(request)));
  co_return co_await answer_session(call, 201, std::move(view));
}

Task<> list_sessions(Call& call) {
  const auto views = call.engine().list_sessions(call.caller());
  std::string json;
  ObjectWriter object(json);
  object.key("sessions") += '[';
  for (const auto& view : views) {
    if (json.back() != '[') json += ',';
    append_session(json, view);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> get_session(Call& call) {
  CO_TRY(auto view, call.engine().get_session(call.caller(), named(call)));
  co_return co_await answer_session(call, 200, std::move(view));
}

Task<> renew_session(Call& call) {
  CO_TRY(const auto wire, co_await read_optional_json<WireRenewSession>(call));
  CO_TRY(auto view,
         co_await call.engine().renew_session(call.caller(), named(call), to_seconds(wire.ttl_s)));
  co_return co_await answer_session(call, 200, std::move(view));
}

Task<> close_session(Call& call) {
  CO_TRY_OK(co_await call.engine().close_session(call.caller(), named(call)));
  co_return co_await call.answer_nothing();
}

}  // namespace atl::api::v1
