#include "client/sandbox_pages.h"

#include "client/answer.h"

namespace atl::client {
namespace {

constexpr size_t kMostSandboxes = 100'000;

}  // namespace

Task<SandboxList> fetch_page(Connection& connection, std::string query, std::string cursor) {
  if (!cursor.empty()) query += "&cursor=" + net::percent_encode(cursor);
  CO_TRY(const std::string text, co_await connection.get("/v1/sandboxes?" + query));
  CO_TRY(const auto answer, parse_answer(text));
  co_return SandboxList{list_at(answer, "sandboxes"), text_at(answer, "next_cursor")};
}

Task<json::Array> fetch_sandboxes(Connection& connection, std::string query) {
  json::Array all;
  std::string cursor;
  for (;;) {
    CO_TRY(SandboxList page, co_await fetch_page(connection, query, cursor));
    // A page that leads back to itself would have no end.
    if (!page.next.empty() && (page.next == cursor || page.sandboxes.empty()))
      co_return Error(Code::internal, "the daemon's list of sandboxes has no end");
    for (json::Value& sandbox : page.sandboxes) all.push_back(std::move(sandbox));
    if (all.size() > kMostSandboxes)
      co_return Error(Code::too_large, "there are more than 100,000 sandboxes")
          .with_hint("ask for some of them: by state, driver, name or label");
    cursor = std::move(page.next);
    if (cursor.empty()) co_return all;
  }
}

}  // namespace atl::client
