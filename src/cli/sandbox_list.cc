#include "cli/sandbox_list.h"

#include "cli/json_view.h"

namespace atl::cli {
namespace {

constexpr size_t kMostPages = 1'000;

}  // namespace

Result<json::Array> fetch_sandboxes(Client& client, std::string filter) {
  json::Array all;
  std::string cursor;
  for (size_t page = 0; page < kMostPages; ++page) {
    std::string target = "/v1/sandboxes?limit=1000";
    if (!filter.empty()) target += "&" + filter;
    if (!cursor.empty()) target += "&cursor=" + net::percent_encode(cursor);
    TRY(const std::string text, client.get(std::move(target)));
    TRY(const auto answer, parse_answer(text));
    for (const json::Value& sandbox : list_at(answer, "sandboxes")) all.push_back(sandbox);
    cursor = text_at(answer, "next_cursor");
    if (cursor.empty()) return all;
  }
  return Error(Code::internal, "the daemon's list of sandboxes has no end");
}

Result<std::vector<std::string>> fetch_sandbox_ids(Client& client) {
  TRY(const auto sandboxes, fetch_sandboxes(client));
  std::vector<std::string> ids;
  for (const json::Value& sandbox : sandboxes) ids.push_back(text_at(sandbox, "id"));
  return ids;
}

}  // namespace atl::cli
