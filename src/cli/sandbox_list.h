// All sandboxes that a daemon knows, page by page.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/screen.h"
#include "json/value.h"

namespace atl::cli {

// `filter` is a query without its first "?": "driver=local&label=a%3Db".
Result<json::Array> fetch_sandboxes(Client& client, std::string filter = "");
Result<std::vector<std::string>> fetch_sandbox_ids(Client& client);

// How a state is shown where there are colours.
Ink ink_of_state(std::string_view state);

}  // namespace atl::cli
