#include "api/problem.h"

#include <boost/describe/class.hpp>

#include "api/object_writer.h"
#include "base/refusal.h"
#include "net/problem_name.h"

namespace atl {
BOOST_DESCRIBE_STRUCT(StartStage, (), (name, ms, log))
}  // namespace atl

namespace atl::api {

Problem::Problem(Error problem)
    : status(http_status(problem.code())),
      code(to_string(problem.code())),
      error(std::move(problem)) {}

Problem::Problem(int http_status, std::string_view problem_code, Error problem)
    : status(http_status), code(problem_code), error(std::move(problem)) {}

void append_problem(std::string& out, const Problem& problem, const RequestIds& ids) {
  ObjectWriter object(out);
  object.member("type", net::problem_type(problem.code));
  object.member("title", net::problem_title(problem.code));
  object.member("status", problem.status);
  object.member("code", problem.code);
  object.member("detail", problem.error.message());
  if (!problem.error.stage().empty()) object.member("stage", problem.error.stage());
  if (!problem.error.hint().empty()) object.member("hint", problem.error.hint());
  object.member("retryable", is_retryable(problem.error.code()));
  if (const auto& refusal = problem.error.refusal(); refusal && !refusal->limit.empty()) {
    object.member("limit", refusal->limit);
    if (refusal->most) object.member("limit_most", *refusal->most);
    if (refusal->used) object.member("limit_used", *refusal->used);
    if (refusal->asked) object.member("limit_asked", *refusal->asked);
    if (refusal->queue_position) object.member("queue_position", *refusal->queue_position);
    if (refusal->queue_length) object.member("queue_length", *refusal->queue_length);
    object.member("retry_after_s", static_cast<int64_t>(refusal->retry_after.count()));
  }
  if (const auto& refusal = problem.error.refusal(); refusal && !refusal->sandbox.empty()) {
    object.member("sandbox", refusal->sandbox);
    object.member("stages", refusal->stages);
  }
  object.member("request_id", ids.request_id);
  object.member("trace_id", ids.trace_id);
  object.close();
}

net::Response make_problem_response(const Problem& problem, const RequestIds& ids) {
  net::Response response;
  response.status = problem.status;
  response.headers.add("Content-Type", "application/problem+json");
  add_ids(response.headers, ids);
  if (problem.status == 429 || problem.status == 503) {
    const auto& refusal = problem.error.refusal();
    const auto wait = refusal ? refusal->retry_after : problem.retry_after;
    response.headers.add("Retry-After", std::to_string(wait.count()));
  }
  if (problem.status == 401) {
    response.headers.add("WWW-Authenticate", "Bearer realm=\"atoll\"");
  }
  append_problem(response.body, problem, ids);
  return response;
}

}  // namespace atl::api
