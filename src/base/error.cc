#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace atl {
namespace {

Code code_from_errno(int number) {
  switch (number) {
    case ENOENT:
    case ESRCH:
      return Code::not_found;
    case EEXIST:
    case ENOTEMPTY:
      return Code::already_exists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::permission_denied;
    case EINVAL:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV:
      return Code::invalid_argument;
    case ENOSPC:
    case EDQUOT:
      return Code::out_of_space;
    case EFBIG:
    case E2BIG:
      return Code::too_large;
    case EAGAIN:
    case ENOMEM:
      return Code::resource_exhausted;
    // No quota of the caller's: this program or this host has no descriptor left.
    case EMFILE:
    case ENFILE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
      return Code::unavailable;
    case ETIMEDOUT:
      return Code::deadline_exceeded;
    default:
      return Code::internal;
  }
}

}  // namespace

Error::Error(Code code, std::string message, int os_errno)
    : code_(code), os_errno_(os_errno), message_(std::move(message)) {}

Error Error::with(std::string_view context) && {
  message_.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

Error Error::with_hint(std::string_view hint) && {
  if (hint_.empty()) hint_ = hint;
  return std::move(*this);
}

Error Error::at_stage(std::string_view stage) && {
  if (stage_.empty()) stage_ = stage;
  return std::move(*this);
}

Error os_error(std::string_view what, std::string_view subject) {
  return os_error_from(errno, what, subject);
}

Error os_error_from(int saved_errno, std::string_view what, std::string_view subject) {
  std::string message(what);
  if (!subject.empty()) {
    message += ' ';
    message += subject;
  }
  message += ": ";
  char buffer[128];
  message += strerror_r(saved_errno, buffer, sizeof buffer);  // the GNU variant returns the text
  return Error(code_from_errno(saved_errno), std::move(message), saved_errno);
}

}  // namespace atl
