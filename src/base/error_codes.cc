// The part of error.h that speaks to people and over HTTP; the privileged programs only pass codes
// on.
#include <iterator>

#include "base/error.h"

namespace atl {
namespace {

struct CodeRow {
  std::string_view name;
  int status;
  bool retryable;
};

// In the order of the enum.
constexpr CodeRow kCodes[] = {
    {"invalid_argument", 400, false},
    {"unauthenticated", 401, false},
    {"permission_denied", 403, false},
    {"not_found", 404, false},
    {"already_exists", 409, false},
    {"conflict", 409, false},
    {"unsupported", 409, false},
    {"too_large", 413, false},
    {"idempotency_mismatch", 422, false},
    {"resource_exhausted", 429, true},
    {"cancelled", 499, false},
    {"internal", 500, false},
    {"unavailable", 503, true},
    {"deadline_exceeded", 504, false},
    {"out_of_space", 507, false},
};
static_assert(std::size(kCodes) == static_cast<size_t>(Code::out_of_space) + 1);

const CodeRow& row(Code code) { return kCodes[static_cast<size_t>(code)]; }

}  // namespace

std::string_view to_string(Code code) { return row(code).name; }
int http_status(Code code) { return row(code).status; }
bool is_retryable(Code code) { return row(code).retryable; }

}  // namespace atl
