// The one error type: a code to branch on, a message that gains context on the way up, and a hint
// for the user.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace atl {

// A closed set: a code exists only if some caller branches on it. Each has one HTTP status and one
// retry rule.
enum class Code : uint8_t {
  invalid_argument,   // 400: the request can never succeed as written
  unauthenticated,    // 401: no key, or a wrong one
  permission_denied,  // 403: known, but not allowed; also what a policy refuses
  not_found,          // 404
  already_exists,     // 409: the name or id is taken
  conflict,           // 409: the thing is in a state that does not allow this now
  unsupported,        // 409: this driver lacks the capability; the hint names drivers that have it
  too_large,          // 413: over a stated limit
  idempotency_mismatch,  // 422: the same key came with another request
  resource_exhausted,    // 429: a quota or a pool is full; retry later
  cancelled,             // 499: the caller went away
  internal,              // 500: a bug or a broken host
  unavailable,           // 503: a backend does not answer; retry, or take another driver
  deadline_exceeded,     // 504
  out_of_space,          // 507: disk or inodes are used up
};

std::string_view to_string(Code code);
int http_status(Code code);
bool is_retryable(Code code);

struct Refusal;  // base/refusal.h

// "creating sandbox sbx1: mounting /proc: Operation not permitted": context is prepended on the way
// up.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message, int os_errno = 0);

  Code code() const { return code_; }
  int os_errno() const { return os_errno_; }
  const std::string& message() const { return message_; }
  // What the user can do about it; empty when nobody knows.
  const std::string& hint() const { return hint_; }
  // Which stage of a request failed ("route", "create", "exec"); empty when it is not part of one.
  const std::string& stage() const { return stage_; }
  // What a program can do about a limit that was met; null when it was not that.
  const std::shared_ptr<const Refusal>& refusal() const { return refusal_; }

  Error with(std::string_view context) &&;
  // The innermost hint and stage win: they are set where most is known.
  Error with_hint(std::string_view hint) &&;
  Error at_stage(std::string_view stage) &&;
  Error with_refusal(std::shared_ptr<const Refusal> refusal) &&;

 private:
  Code code_;
  int os_errno_;
  std::string message_;
  std::string hint_;
  std::string stage_;
  std::shared_ptr<const Refusal> refusal_;
};

// An Error from errno. Reads errno first, so call it at once: `return os_error("open", path);`
Error os_error(std::string_view what, std::string_view subject = {});
Error os_error_from(int saved_errno, std::string_view what, std::string_view subject = {});

}  // namespace atl
