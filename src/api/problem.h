// Errors as application/problem+json (RFC 9457): what failed, at which stage, and what would help.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "api/request_ids.h"
#include "base/error.h"
#include "net/http_message.h"

namespace atl::api {

struct Problem {
  Problem(Error problem);  // NOLINT(google-explicit-constructor)
  // For the few answers whose status belongs to HTTP and not to a code of ours.
  Problem(int http_status, std::string_view problem_code, Error problem);

  int status;
  std::string_view code;  // a constant
  Error error;
  std::chrono::seconds retry_after{1};  // where trying again helps
};

void append_problem(std::string& out, const Problem& problem, const RequestIds& ids);

// With Retry-After where trying again helps, and WWW-Authenticate for 401.
net::Response make_problem_response(const Problem& problem, const RequestIds& ids);

}  // namespace atl::api
