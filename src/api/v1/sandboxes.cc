// /v1/sandboxes: create, list, get, delete, stats, and how one began.
#include "api/body.h"
#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/v1/handlers.h"
#include "api/v1/sandbox_wire.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kDefaultPage = 100;
constexpr size_t kLargestPage = 1'000;

Result<ListFilter> read_filter(const net::Query& query) {
  ListFilter filter;
  TRY(filter.state, read_choice<State>(query, "state"));
  filter.tenant = query.get("tenant");
  filter.driver = query.get("driver");
  filter.name = query.get("name");
  filter.user_id = query.get("user_id");
  for (const std::string_view label : query.all("label")) {
    const size_t equals = label.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error(Code::invalid_argument, "label: it is written label=name=value")
          .at_stage("request");
    }
    filter.labels[std::string(label.substr(0, equals))] = label.substr(equals + 1);
  }
  TRY(const auto limit, read_number(query, "limit", kLargestPage));
  if (limit == 0u) {
    return Error(Code::invalid_argument, "limit: a page has at least 1").at_stage("request");
  }
  filter.limit = limit.value_or(kDefaultPage);
  filter.cursor = query.get("cursor");
  return filter;
}

}  // namespace

Task<> create_sandbox(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireCreate>(call, kMostCreateJson));
  std::optional<Idempotency> idempotency;
  if (const auto key = call.request().headers.find("Idempotency-Key")) {
    idempotency = Idempotency{std::string(*key), hash_of(wire)};
  }
  add_snapshots_template(wire, call.engine(), call.caller(), call.templates());
  CO_TRY(auto request, to_request(std::move(wire), call.visitor().seat, call.templates(),
                                  &call.engine().profiles()));
  // Whoever goes away while waiting for a turn gives it up; what is being made is made.
  const auto stop = std::make_shared<RunStop>();
  request.stop = stop;
  call.exchange().on_closed([stop] { stop->stop(); });
  CO_TRY(const auto view,
         co_await call.engine().create(call.caller(), std::move(request), std::move(idempotency)));
  net::Response response;
  response.status = view.was_there ? 200 : 201;
  response.headers = call.headers("application/json");
  response.headers.add("Location", "/v1/sandboxes/" + view.id);
  append_sandbox(response.body, view);
  co_return co_await call.answer_with(std::move(response));
}

Task<> explain_sandbox(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireCreate>(call, kMostCreateJson));
  add_snapshots_template(wire, call.engine(), call.caller(), call.templates());
  CO_TRY(auto request, to_request(std::move(wire), call.visitor().seat, call.templates(),
                                  &call.engine().profiles()));
  CO_TRY(const auto explanation, co_await call.engine().explain(call.caller(), std::move(request)));
  std::string json;
  append_explanation(json, explanation);
  co_return co_await call.answer(200, std::move(json));
}

Task<> list_sandboxes(Call& call) {
  CO_TRY(const auto filter, read_filter(call.request().query));
  CO_TRY(const auto page, call.engine().list(call.caller(), filter));
  std::string json;
  ObjectWriter object(json);
  object.key("sandboxes") += '[';
  for (const auto& view : page.sandboxes) {
    if (json.back() != '[') json += ',';
    append_sandbox(json, view);
  }
  json += ']';
  if (page.next_cursor.empty()) {
    object.null("next_cursor");
  } else {
    object.member("next_cursor", page.next_cursor);
  }
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> get_sandbox(Call& call) {
  CO_TRY(const auto view, call.engine().get(call.caller(), call.sandbox()));
  std::string json;
  json.reserve(768);
  append_sandbox(json, view);
  co_return co_await call.answer(200, std::move(json));
}

Task<> delete_sandbox(Call& call) {
  CO_TRY(const auto discards, read_flag(call.request().query, "discard"));
  const Remains remains = discards.value_or(false) ? Remains::discarded : Remains::as_asked;
  CO_TRY_OK(co_await call.engine().destroy(call.caller(), call.sandbox(), remains));
  co_return co_await call.answer_nothing();
}

Task<> sandbox_start(Call& call) {
  CO_TRY(const auto record, co_await call.engine().start_record(call.caller(), call.sandbox()));
  std::string json;
  append_start(json, record);
  co_return co_await call.answer(200, std::move(json));
}

Task<> sandbox_stats(Call& call) {
  CO_TRY(const auto stats, co_await call.engine().stats(call.caller(), call.sandbox()));
  std::string json;
  ObjectWriter object(json);
  object.member("processes", stats.processes);
  object.member("cpu_ms", static_cast<double>(stats.cpu.count()) / 1'000);
  object.member("memory_bytes", stats.memory_bytes);
  object.member("age_ms", static_cast<double>(stats.age.count()) / 1'000);
  object.member("braked", stats.braked);
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace atl::api::v1
