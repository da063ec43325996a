#include "client/connection.h"

#include <gmock/gmock.h>

namespace atl::client {
namespace {

using ::testing::HasSubstr;

TEST(Problem, BecomesTheErrorThatItDescribes) {
  std::string request_id;

  const Error error = problem_to_error(
      409,
      R"({"code":"unsupported","detail":"local cannot pause","hint":"use native","stage":"pause","request_id":"req7"})",
      request_id);

  EXPECT_EQ(error.code(), Code::unsupported);
  EXPECT_EQ(error.message(), "local cannot pause");
  EXPECT_EQ(error.hint(), "use native");
  EXPECT_EQ(error.stage(), "pause");
  EXPECT_EQ(request_id, "req7");
}

TEST(Problem, AnAnswerThatIsNoneStillTellsItsStatus) {
  std::string request_id;

  const Error error = problem_to_error(503, "<html>busy</html>", request_id);

  EXPECT_EQ(error.code(), Code::unavailable);
  EXPECT_THAT(error.message(), HasSubstr("503"));
}

}  // namespace
}  // namespace atl::client
