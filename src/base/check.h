// ATOLL_CHECK: for our own bugs. Input can never reach one.
#pragma once

namespace atl {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace atl

#define ATOLL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::atl::check_failed(#condition, __FILE__, __LINE__))
