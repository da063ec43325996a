#include "cli/sandbox_list.h"

#include "base/run_task.h"
#include "cli/json_view.h"
#include "client/sandbox_pages.h"

namespace atl::cli {

Result<json::Array> fetch_sandboxes(Client& client, std::string filter) {
  const std::string query = "limit=1000" + (filter.empty() ? "" : "&" + filter);
  return run_task(client.loop(), client::fetch_sandboxes(client.connection(), query));
}

Result<std::vector<std::string>> fetch_sandbox_ids(Client& client) {
  TRY(const auto sandboxes, fetch_sandboxes(client));
  std::vector<std::string> ids;
  for (const json::Value& sandbox : sandboxes) ids.push_back(text_at(sandbox, "id"));
  return ids;
}

Ink ink_of_state(std::string_view state) {
  if (state == "running") return Ink::good;
  if (state == "failed") return Ink::bad;
  if (state == "stopped" || state == "destroyed") return Ink::dim;
  return Ink::warning;  // paused, or on its way
}

}  // namespace atl::cli
