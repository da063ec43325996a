// A judge that is an Open Policy Agent server, asked by its data API.
//
//   POST /v1/data/atoll/allow  {"input": {…}}   →   {"result": true}
//
// The result is a boolean, or an object with `allow` and, for a no, `reason`. No result, which is
// how OPA says that no rule applies, is a no. Everything else is no answer: another status, an
// answer that is no JSON or too large, none in time. A no and a yes may be remembered for a moment,
// if the operator wants that; having had no answer never is.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "policy/judge.h"

namespace atl::policy {

inline constexpr Millis kLongestOpaTimeout{10'000};
inline constexpr Millis kLongestOpaCache{60'000};

struct OpaOptions {
  std::string url;    // of the decision: http://127.0.0.1:8181/v1/data/atoll/allow
  std::string token;  // sent as a bearer token; "" = none. A secret
  Millis timeout{1'000};
  Millis remember{0};  // how long an answer holds for the same question; zero = not at all
};

// Code::invalid_argument for a URL that names no decision.
Result<> check_opa(const OpaOptions& options);
// `clock` outlives the judge.
Result<std::shared_ptr<Judge>> make_opa(const asio::any_io_executor& executor, const Clock& clock,
                                        OpaOptions options);

}  // namespace atl::policy
