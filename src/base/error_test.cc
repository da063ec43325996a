#include <gtest/gtest.h>

#include <cerrno>

#include "base/result.h"

namespace atl {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error(Code::invalid_argument, "odd");
  return number / 2;
}

Result<int> quarter(int number) {
  TRY(auto once, half(number));
  TRY(auto twice, half(once));
  return twice;
}

TEST(Error, GainsContextOnTheWayUp) {
  errno = EPERM;
  auto error = os_error("mounting", "/proc").with("creating sbx1");

  EXPECT_EQ(error.message(), "creating sbx1: mounting /proc: Operation not permitted");
  EXPECT_EQ(error.code(), Code::permission_denied);
  EXPECT_EQ(error.os_errno(), EPERM);
}

TEST(Error, KeepsTheInnermostHintAndStage) {
  auto error = Error(Code::internal, "x")
                   .with_hint("inner")
                   .at_stage("exec")
                   .with_hint("outer")
                   .at_stage("run");

  EXPECT_EQ(error.hint(), "inner");
  EXPECT_EQ(error.stage(), "exec");
}

TEST(Result, TryPassesTheFirstErrorUp) {
  EXPECT_EQ(quarter(8).value(), 2);
  ASSERT_FALSE(quarter(6).has_value());
  EXPECT_EQ(quarter(6).error().message(), "odd");
}

}  // namespace
}  // namespace atl
