#include "api/problem.h"

#include <algorithm>

#include "api/object_writer.h"
#include "base/ids.h"

namespace atl::api {
namespace {

constexpr size_t kMostRequestId = 128;
constexpr std::string_view kRetryAfterSeconds = "1";

bool is_sane_id(std::string_view text) {
  constexpr std::string_view kBesides = "-_.:+/=@";
  return !text.empty() && text.size() <= kMostRequestId && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kBesides.find(c) != std::string_view::npos;
  });
}

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "00-<32 hex>-<16 hex>-<2 hex>"; "" when it is anything else. Later versions may append more.
std::string_view trace_of(std::string_view parent) {
  if (parent.size() < 55 || (parent.size() > 55 && parent[55] != '-')) return {};
  const std::string_view trace = parent.substr(3, 32);
  const bool shaped = parent[2] == '-' && parent[35] == '-' && parent[52] == '-' &&
                      is_lower_hex(parent.substr(0, 2)) && is_lower_hex(trace) &&
                      is_lower_hex(parent.substr(36, 16)) && is_lower_hex(parent.substr(53, 2));
  const bool valid = !parent.starts_with("ff") && trace.find_first_not_of('0') != trace.npos;
  return shaped && valid ? trace : std::string_view();
}

// A sentence's beginning for people, from the code: "not_found" → "Not found".
std::string to_title(std::string_view code) {
  std::string title(code);
  std::ranges::replace(title, '_', ' ');
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') {
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  }
  return title;
}

}  // namespace

RequestIds make_request_ids(const net::Headers& headers) {
  RequestIds ids;
  const std::string_view given = headers.get("X-Request-Id");
  ids.request_id = is_sane_id(given) ? std::string(given) : make_request_id();
  const std::string_view trace = trace_of(headers.get("traceparent"));
  ids.trace_id = trace.empty() ? make_trace_id() : std::string(trace);
  return ids;
}

Problem::Problem(Error problem)
    : status(http_status(problem.code())),
      code(to_string(problem.code())),
      error(std::move(problem)) {}

Problem::Problem(int http_status, std::string_view problem_code, Error problem)
    : status(http_status), code(problem_code), error(std::move(problem)) {}

void append_problem(std::string& out, const Problem& problem, const RequestIds& ids) {
  ObjectWriter object(out);
  object.member("type", "urn:atoll:problem:" + std::string(problem.code));
  object.member("title", to_title(problem.code));
  object.member("status", problem.status);
  object.member("code", problem.code);
  object.member("detail", problem.error.message());
  if (!problem.error.stage().empty()) object.member("stage", problem.error.stage());
  if (!problem.error.hint().empty()) object.member("hint", problem.error.hint());
  object.member("retryable", is_retryable(problem.error.code()));
  object.member("request_id", ids.request_id);
  object.member("trace_id", ids.trace_id);
  object.close();
}

net::Response make_problem_response(const Problem& problem, const RequestIds& ids) {
  net::Response response;
  response.status = problem.status;
  response.headers.add("Content-Type", "application/problem+json");
  response.headers.add("X-Request-Id", ids.request_id);
  response.headers.add("X-Trace-Id", ids.trace_id);
  if (problem.status == 429 || problem.status == 503) {
    response.headers.add("Retry-After", kRetryAfterSeconds);
  }
  if (problem.status == 401) {
    response.headers.add("WWW-Authenticate", "Bearer realm=\"atoll\"");
  }
  append_problem(response.body, problem, ids);
  return response;
}

}  // namespace atl::api
