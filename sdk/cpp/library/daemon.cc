// The calls about the daemon itself: events, keys, what it is and what it allows.
#include "client/answer.h"
#include "client/event_stream.h"
#include "library/plan.h"
#include "library/wire.h"

namespace atoll_client::calls {
namespace {

using atl::Result;
using atl::Task;
using atl::client::flag_at;
using atl::client::list_at;
using atl::client::number_at;
using atl::client::parse_answer;
using atl::client::text_at;
using atl::json::Value;

Event to_event(const Value& value) {
  return {.id = text_at(value, "id"),
          .type = text_at(value, "type"),
          .at = text_at(value, "at"),
          .sandbox = text_at(value, "sandbox"),
          .name = text_at(value, "name"),
          .driver = text_at(value, "driver"),
          .from = text_at(value, "from"),
          .state = text_at(value, "state"),
          .reason = text_at(value, "reason"),
          .is_run = flag_at(value, "run")};
}

Task<> follow_them(Caller& caller, EventFilter filter, OnEvent on_event) {
  atl::client::EventQuery query{.filter = filter.with_runs ? "runs=true" : "runs=false",
                                .after = filter.after,
                                .away = filter.away};
  if (!filter.sandbox.empty())
    query.filter += "&sandbox=" + atl::net::percent_encode(filter.sandbox);
  if (!filter.state.empty()) query.filter += "&state=" + atl::net::percent_encode(filter.state);
  const auto tell = [&](const Value& value) -> Result<atl::client::Follow> {
    bool goes_on = false;
    TRY_OK(call_user(caller, [&] { goes_on = on_event(to_event(value)); }));
    return goes_on ? atl::client::Follow::on : atl::client::Follow::end;
  };
  co_return co_await atl::client::follow_events(caller.connection, std::move(query), tell);
}

KeyInfo to_key(const Value& value) {
  return {.id = text_at(value, "id"),
          .tenant = text_at(value, "tenant"),
          .role = text_at(value, "role"),
          .label = text_at(value, "label"),
          .created_at = text_at(value, "created_at"),
          .expires_at = text_at(value, "expires_at"),
          .last_used_at = text_at(value, "last_used_at")};
}

Task<NewKey> create_one(Caller& caller, KeyWish wish) {
  atl::json::Object body{{"role", wish.role}};
  if (!wish.tenant.empty()) body["tenant"] = wish.tenant;
  if (!wish.label.empty()) body["label"] = wish.label;
  if (wish.ttl.count() != 0) body["ttl_s"] = wish.ttl.count();
  CO_TRY(const std::string text, co_await caller.connection.post("/v1/keys", to_text(body)));
  CO_TRY(const auto answer, parse_answer(text));
  co_return NewKey{to_key(answer), text_at(answer, "key")};
}

Task<std::vector<KeyInfo>> fetch_keys(Caller& caller) {
  CO_TRY(const std::string text, co_await caller.connection.get("/v1/keys"));
  CO_TRY(const auto answer, parse_answer(text));
  std::vector<KeyInfo> all;
  for (const Value& one : list_at(answer, "keys")) all.push_back(to_key(one));
  co_return all;
}

Task<Token> make_one(Caller& caller, std::string id, std::chrono::seconds ttl) {
  atl::json::Object body;
  if (ttl.count() != 0) body["ttl_s"] = ttl.count();
  CO_TRY(const std::string text,
         co_await caller.connection.post(atl::client::sandbox_path(id, "/token"), to_text(body)));
  CO_TRY(const auto answer, parse_answer(text));
  co_return Token{text_at(answer, "token"), text_at(answer, "sandbox"),
                  text_at(answer, "expires_at")};
}

Task<Identity> fetch_identity(Caller& caller) {
  CO_TRY(const std::string text, co_await caller.connection.get("/v1/whoami"));
  CO_TRY(const auto answer, parse_answer(text));
  Identity identity{.tenant = text_at(answer, "tenant"),
                    .subject = text_at(answer, "subject"),
                    .role = text_at(answer, "role"),
                    .sandbox = text_at(answer, "sandbox"),
                    .may = {}};
  for (const Value& one : list_at(answer, "may")) {
    if (const auto* word = one.if_string()) identity.may.emplace_back(*word);
  }
  co_return identity;
}

Task<Limits> fetch_limits(Caller& caller) {
  CO_TRY(const std::string text, co_await caller.connection.get("/v1/limits"));
  CO_TRY(const auto answer, parse_answer(text));
  Limits limits;
  const auto* object = answer.if_object();
  if (object == nullptr) co_return limits;
  for (const auto& member : *object) {
    if (member.value().is_number())
      limits[std::string(member.key())] = number_at(answer, member.key());
  }
  co_return limits;
}

Task<DaemonVersion> fetch_version(Caller& caller) {
  CO_TRY(const std::string text, co_await caller.connection.get("/v1/version"));
  CO_TRY(const auto answer, parse_answer(text));
  co_return DaemonVersion{text_at(answer, "version"), text_at(answer, "api"),
                          text_at(answer, "instance_id")};
}

Task<std::vector<DriverInfo>> fetch_drivers(Caller& caller) {
  CO_TRY(const std::string text, co_await caller.connection.get("/v1/drivers"));
  CO_TRY(const auto answer, parse_answer(text));
  std::vector<DriverInfo> all;
  for (const Value& one : list_at(answer, "drivers")) {
    all.push_back({.name = text_at(one, "name"),
                   .summary = text_at(one, "summary"),
                   .isolation = text_at(one, "capabilities.isolation"),
                   .available = flag_at(one, "available"),
                   .unavailable_because = text_at(one, "unavailable_because"),
                   .hint = text_at(one, "hint")});
  }
  co_return all;
}

}  // namespace

Call<void> follow_events(EventFilter filter, OnEvent on_event) {
  return make_call<void>([=](Caller& caller) { return follow_them(caller, filter, on_event); });
}

Call<NewKey> create_key(KeyWish wish) {
  return make_call<NewKey>([=](Caller& caller) { return create_one(caller, wish); });
}

Call<std::vector<KeyInfo>> keys() { return make_call<std::vector<KeyInfo>>(fetch_keys); }

Call<void> revoke_key(std::string key_id) {
  return make_call<void>([=](Caller& caller) {
    return caller.connection.remove("/v1/keys/" + atl::net::percent_encode(key_id));
  });
}

Call<Token> make_token(std::string id, std::chrono::seconds ttl) {
  return make_call<Token>([=](Caller& caller) { return make_one(caller, id, ttl); });
}

Call<Identity> whoami() { return make_call<Identity>(fetch_identity); }
Call<Limits> limits() { return make_call<Limits>(fetch_limits); }
Call<DaemonVersion> version() { return make_call<DaemonVersion>(fetch_version); }
Call<std::vector<DriverInfo>> drivers() {
  return make_call<std::vector<DriverInfo>>(fetch_drivers);
}

}  // namespace atoll_client::calls
