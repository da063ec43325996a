// Cross-origin requests of browsers. Off unless origins are configured, and then for these alone.
#pragma once

#include <string>
#include <vector>

#include "net/http_message.h"

namespace atl::api {

// "https://console.example:8443": a scheme, a host and maybe a port, as a browser writes it.
// Code::invalid_argument for anything else; "*" is not taken, since a page that nobody named has no
// business with sandboxes.
Result<> check_origin(const std::string& origin);

// Nothing when no origins are configured; otherwise Vary, and the headers that let the page read
// the answer if its origin is one of them.
void add_cors(net::Headers& headers, const net::Request& request,
              const std::vector<std::string>& origins);

// Whether a browser asks in advance, on behalf of a page of a configured origin.
bool is_preflight(const net::Request& request, const std::vector<std::string>& origins);
// The answer to it: what the path takes, and which headers.
net::Response make_preflight_response(const std::string& allow);

}  // namespace atl::api
