// ATOLL_REQUIRE: what a test needs of the host. Lacking it skips the test on a laptop and fails it
// under ATOLL_MUST_RUN=1, which CI sets, so that nothing stays untested there unnoticed.
//
//   ATOLL_REQUIRE(geteuid() == 0, "needs root");
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string_view>

namespace atl::test {

inline bool must_run() {
  const char* told = getenv("ATOLL_MUST_RUN");
  return told != nullptr && std::string_view(told) == "1";
}

}  // namespace atl::test

#define ATOLL_REQUIRE(condition, why)                                      \
  do {                                                                     \
    if (!(condition)) {                                                    \
      if (::atl::test::must_run())                                         \
        FAIL() << "ATOLL_MUST_RUN is set, and this host lacks: " << (why); \
      GTEST_SKIP() << (why);                                               \
    }                                                                      \
  } while (false)
