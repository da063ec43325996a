// The calls about sandboxes as a whole.
#include "client/answer.h"
#include "client/sandbox_pages.h"
#include "library/plan.h"
#include "library/wire.h"

namespace atoll_client::calls {
namespace {

using atl::Task;
using atl::client::parse_answer;
using atl::client::sandbox_path;

Task<SandboxInfo> create_it(Caller& caller, Settings settings) {
  CO_TRY(const auto body, to_wire(settings));
  CO_TRY(const std::string text, co_await caller.connection.post("/v1/sandboxes", to_text(body)));
  CO_TRY(const auto answer, parse_answer(text));
  co_return to_sandbox(answer);
}

Task<SandboxInfo> get_it(Caller& caller, std::string id) {
  CO_TRY(const std::string text, co_await caller.connection.get(sandbox_path(id)));
  CO_TRY(const auto answer, parse_answer(text));
  co_return to_sandbox(answer);
}

Task<SandboxInfo> change(Caller& caller, std::string id, std::string verb, std::string body) {
  CO_TRY(const std::string text,
         co_await caller.connection.post(sandbox_path(id, "/" + verb), std::move(body)));
  CO_TRY(const auto answer, parse_answer(text));
  co_return to_sandbox(answer);
}

Call<SandboxInfo> change_call(std::string id, std::string verb, std::string body = "{}") {
  return make_call<SandboxInfo>([=](Caller& caller) { return change(caller, id, verb, body); });
}

std::string query_from(const ListFilter& filter) {
  std::string query = "limit=" + std::to_string(filter.limit);
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) query += "&" + std::string(name) + "=" + atl::net::percent_encode(value);
  };
  add("state", filter.state);
  add("driver", filter.driver);
  add("name", filter.name);
  add("tenant", filter.tenant);
  for (const auto& [name, value] : filter.labels) {
    std::string label = name;
    label.append("=").append(value);
    add("label", label);
  }
  return query;
}

std::vector<SandboxInfo> to_sandboxes(const atl::json::Array& array) {
  std::vector<SandboxInfo> all;
  all.reserve(array.size());
  for (const auto& one : array) all.push_back(to_sandbox(one));
  return all;
}

Task<SandboxPage> list_page(Caller& caller, ListFilter filter) {
  CO_TRY(auto page,
         co_await atl::client::fetch_page(caller.connection, query_from(filter), filter.cursor));
  co_return SandboxPage{to_sandboxes(page.sandboxes), std::move(page.next)};
}

Task<std::vector<SandboxInfo>> list_pages(Caller& caller, ListFilter filter) {
  CO_TRY(const auto all,
         co_await atl::client::fetch_sandboxes(caller.connection, query_from(filter)));
  co_return to_sandboxes(all);
}

Task<Stats> stats_of(Caller& caller, std::string id) {
  CO_TRY(const std::string text, co_await caller.connection.get(sandbox_path(id, "/stats")));
  CO_TRY(const auto answer, parse_answer(text));
  co_return Stats{.processes = atl::client::count_at(answer, "processes"),
                  .memory_bytes = atl::client::count_at(answer, "memory_bytes"),
                  .cpu = time_at(answer, "cpu_ms"),
                  .age = time_at(answer, "age_ms")};
}

}  // namespace

Call<SandboxInfo> create(Settings settings) {
  return make_call<SandboxInfo>([=](Caller& caller) { return create_it(caller, settings); });
}

Call<SandboxInfo> get(std::string id) {
  return make_call<SandboxInfo>([=](Caller& caller) { return get_it(caller, id); });
}

Call<SandboxPage> list(ListFilter filter) {
  return make_call<SandboxPage>([=](Caller& caller) { return list_page(caller, filter); });
}

Call<std::vector<SandboxInfo>> list_all(ListFilter filter) {
  return make_call<std::vector<SandboxInfo>>(
      [=](Caller& caller) { return list_pages(caller, filter); });
}

Call<void> destroy(std::string id) {
  return make_call<void>(
      [=](Caller& caller) { return caller.connection.remove(sandbox_path(id)); });
}

Call<SandboxInfo> stop(std::string id) { return change_call(std::move(id), "stop"); }
Call<SandboxInfo> start(std::string id) { return change_call(std::move(id), "start"); }
Call<SandboxInfo> pause(std::string id) { return change_call(std::move(id), "pause"); }
Call<SandboxInfo> resume(std::string id) { return change_call(std::move(id), "resume"); }

Call<SandboxInfo> renew(std::string id, std::chrono::seconds ttl) {
  return change_call(std::move(id), "renew", R"({"ttl_s":)" + std::to_string(ttl.count()) + "}");
}

Call<Stats> stats(std::string id) {
  return make_call<Stats>([=](Caller& caller) { return stats_of(caller, id); });
}

}  // namespace atoll_client::calls
