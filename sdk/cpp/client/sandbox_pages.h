// The list of a daemon's sandboxes, which comes in pages.
#pragma once

#include <string>

#include "client/connection.h"
#include "json/value.h"

namespace atl::client {

struct SandboxList {
  json::Array sandboxes;
  std::string next;  // cursor of the page behind it; "" = there is none
};

// `query` is percent-encoded: "limit=100&state=running".
Task<SandboxList> fetch_page(Connection& connection, std::string query, std::string cursor);
// Every page. Code::too_large beyond 100,000 sandboxes.
Task<json::Array> fetch_sandboxes(Connection& connection, std::string query);

}  // namespace atl::client
