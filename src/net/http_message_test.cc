#include "net/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::net {
namespace {

using testing::ElementsAre;

TEST(Headers, AreFoundWhateverTheirCase) {
  Headers headers{{"Content-Type", "text/plain"}, {"X-A", "1"}, {"x-a", "2"}};

  EXPECT_EQ(headers.get("content-type"), "text/plain");
  EXPECT_EQ(headers.get("X-a"), "1");
  EXPECT_EQ(headers.count("X-A"), 2u);
  EXPECT_FALSE(headers.find("X-B").has_value());
}

TEST(Headers, SetReplacesAllOfThatName) {
  Headers headers{{"X-A", "1"}, {"X-B", "b"}, {"x-a", "2"}};

  headers.set("X-A", "3");

  EXPECT_EQ(headers.count("x-a"), 1u);
  EXPECT_EQ(headers.get("x-a"), "3");
  EXPECT_EQ(headers.get("X-B"), "b");
}

TEST(Tokens, AreMatchedWhole) {
  EXPECT_TRUE(has_token("keep-alive, Upgrade", "upgrade"));
  EXPECT_FALSE(has_token("keep-alive, upgraded", "upgrade"));
  EXPECT_FALSE(has_token("", "close"));
}

TEST(Target, IsSplitBeforeItIsDecoded) {
  Request request;

  const auto parsed = request.set_target("/v1/a%2Fb/%C3%A9?path=%2Fetc%2Fhosts&x=1+2&x=%2B&flag");

  ASSERT_TRUE(parsed.has_value());
  EXPECT_THAT(request.segments, ElementsAre("v1", "a/b", "é"));
  EXPECT_EQ(request.path, "/v1/a/b/é");
  EXPECT_EQ(request.query.get("path"), "/etc/hosts");
  EXPECT_THAT(request.query.all("x"), ElementsAre("1 2", "+"));
  EXPECT_TRUE(request.query.contains("flag"));
}

TEST(Target, KeepsEmptySegmentsAndDots) {
  Request request;

  ASSERT_TRUE(request.set_target("/a//../b/").has_value());
  EXPECT_THAT(request.segments, ElementsAre("a", "", "..", "b", ""));
  ASSERT_TRUE(request.set_target("/").has_value());
  EXPECT_TRUE(request.segments.empty());
  EXPECT_EQ(request.path, "/");
}

TEST(Target, TakesTheFormThatProxiesSend) {
  Request request;

  ASSERT_TRUE(request.set_target("http://example.com:80/a?b=c").has_value());
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.query.get("b"), "c");
  ASSERT_TRUE(request.set_target("http://example.com").has_value());
  EXPECT_EQ(request.path, "/");
}

TEST(Target, RefusesWhatCannotBeDecoded) {
  Request request;

  for (const char* bad : {"/%", "/%4", "/%zz", "/%00", "/a?x=%00", "/a?%=1", "a"}) {
    EXPECT_FALSE(request.set_target(bad).has_value()) << bad;
  }
}

TEST(PercentCoding, GoesBothWays) {
  const std::string odd = "a b/é?&=+%\x01";

  EXPECT_EQ(percent_decode(percent_encode(odd)).value(), odd);
}

TEST(Problem, EscapesItsDetailAndNamesTheRequest) {
  const Response problem = make_problem(
      400, Error(Code::invalid_argument, "a \"quote\"\n").at_stage("request").with_hint("b"));
  const std::string id(problem.headers.get("X-Request-Id"));
  const std::string trace(problem.headers.get("X-Trace-Id"));

  EXPECT_FALSE(id.empty());
  EXPECT_EQ(trace.size(), 32U);
  EXPECT_EQ(
      problem.body,
      R"({"type":"urn:atoll:problem:invalid_argument","title":"Invalid argument","status":400,)"
      R"("code":"invalid_argument","detail":"a \"quote\"\u000a","stage":"request","hint":"b",)"
      R"("retryable":false,"request_id":")" +
          id + R"(","trace_id":")" + trace + "\"}");
}

}  // namespace
}  // namespace atl::net
