#include "tests/support/require.h"

#include <gtest/gtest-spi.h>

namespace atl::test {
namespace {

TEST(Require, GoesOnWhenTheHostHasIt) {
  bool went_on = false;

  [&] {
    ATOLL_REQUIRE(true, "nothing");
    went_on = true;
  }();

  EXPECT_TRUE(went_on);
}

TEST(Require, FailsWhereEveryTestMustRun) {
  const char* before = getenv("ATOLL_MUST_RUN");
  const std::string saved = before == nullptr ? "" : before;
  setenv("ATOLL_MUST_RUN", "1", 1);

  EXPECT_FATAL_FAILURE(ATOLL_REQUIRE(false, "a moon base"), "a moon base");

  setenv("ATOLL_MUST_RUN", saved.c_str(), 1);
}

}  // namespace
}  // namespace atl::test
