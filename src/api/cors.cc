#include "api/cors.h"

#include <algorithm>

#include "base/text.h"

namespace atl::api {
namespace {

constexpr const char* kTakes =
    "Authorization, Content-Type, Idempotency-Key, Range, X-API-Key, X-Request-Id, traceparent";
constexpr const char* kShows =
    "Content-Range, Location, Retry-After, X-Atoll-Process, X-Request-Id, X-Trace-Id, traceparent";
constexpr size_t kLongestOrigin = 300;

// "" when the request comes from no page, or from one that was not named.
std::string_view find_origin(const net::Request& request, const std::vector<std::string>& origins) {
  const auto origin = request.headers.find("Origin");
  if (!origin || std::ranges::find(origins, *origin) == origins.end()) return {};
  return *origin;
}

}  // namespace

Result<> check_origin(const std::string& origin) {
  const bool has_scheme = origin.starts_with("https://") || origin.starts_with("http://");
  const std::string_view host =
      has_scheme ? std::string_view(origin).substr(origin.find("://") + 3) : std::string_view();
  constexpr std::string_view kOfHosts = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
  if (!host.empty() && origin.size() <= kLongestOrigin &&
      host.find_first_not_of(kOfHosts) == std::string_view::npos) {
    return {};
  }
  return Error(Code::invalid_argument, to_printable(origin) + " is no origin of web pages")
      .with_hint("write it as a browser does, without a path: https://console.example");
}

void add_cors(net::Headers& headers, const net::Request& request,
              const std::vector<std::string>& origins) {
  if (origins.empty()) return;
  headers.add("Vary", "Origin");
  const std::string_view origin = find_origin(request, origins);
  if (origin.empty()) return;
  headers.add("Access-Control-Allow-Origin", origin);
  headers.add("Access-Control-Expose-Headers", kShows);
}

bool is_preflight(const net::Request& request, const std::vector<std::string>& origins) {
  return request.method == net::Method::options &&
         request.headers.contains("Access-Control-Request-Method") &&
         !find_origin(request, origins).empty();
}

net::Response make_preflight_response(const std::string& allow) {
  net::Response response;
  response.status = 204;
  response.headers.add("Access-Control-Allow-Methods", allow);
  response.headers.add("Access-Control-Allow-Headers", kTakes);
  response.headers.add("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace atl::api
