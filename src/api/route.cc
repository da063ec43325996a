#include "api/route.h"

#include "base/text.h"

namespace atl::api {
namespace {

bool is_placeholder(std::string_view segment) { return segment.starts_with('{'); }

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (is_placeholder(pattern[i]) ? path[i].empty() : pattern[i] != path[i]) return false;
  }
  return true;
}

bool takes(const Route& route, net::Method method) {
  const bool head = method == net::Method::head && route.method == net::Method::get &&
                    route.answer == Answer::whole;
  return route.method == method || head;
}

}  // namespace

Router::Router(std::span<const Route> routes) {
  for (const Route& route : routes) {
    entries_.push_back({&route, split(route.pattern.substr(1), '/')});
  }
}

Router::Found Router::find(const net::Request& request) const {
  Found found;
  for (const Entry& entry : entries_) {
    if (!matches(entry.segments, request.segments)) continue;
    if (takes(*entry.route, request.method)) {
      found.route = entry.route;
      return found;
    }
    if (!found.allow.empty()) found.allow += ", ";
    found.allow += net::to_string(entry.route->method);
    const bool listed = found.allow.find("HEAD") != std::string::npos;
    if (!listed && takes(*entry.route, net::Method::head)) found.allow += ", HEAD";
  }
  return found;
}

std::string Router::suggest(const net::Request& request) const {
  constexpr size_t kMostPath = 256;
  if (request.path.size() > kMostPath) return {};
  std::vector<std::string> known;
  for (const Entry& entry : entries_) {
    std::string path;
    for (size_t i = 0; i < entry.segments.size(); ++i) {
      const bool fill = is_placeholder(entry.segments[i]) && i < request.segments.size() &&
                        !request.segments[i].empty();
      path += "/" + (fill ? request.segments[i] : entry.segments[i]);
    }
    known.push_back(std::move(path));
  }
  return did_you_mean(request.path, known);
}

}  // namespace atl::api
