// Requests that are nonsense: each gets its own clear answer, and the next one is served.
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class BadRequestsTest : public ::testing::Test {
 protected:
  ~BadRequestsTest() override { EXPECT_EQ(world_.get("/v1/drivers").status, 200); }

  Answer create(std::string body) { return world_.post("/v1/sandboxes", std::move(body)); }
  void refused(std::string body, std::string words) {
    const auto answer = create(std::move(body));
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_THAT(answer["detail"], HasSubstr(words));
    EXPECT_EQ(answer["code"], "invalid_argument");
    EXPECT_EQ(answer["stage"], "request");
    EXPECT_EQ(answer["request_id"], answer.header("X-Request-Id"));
    EXPECT_EQ(answer.header("Content-Type"), "application/problem+json");
  }

  ApiWorld world_;
};

TEST_F(BadRequestsTest, UnknownFieldsAndWrongTypesAreNamed) {
  refused(R"({"drivr":"x"})", "did you mean driver");
  refused(R"({"ttl_s":"long"})", "ttl_s");
  refused(R"({"labels":[]})", "labels");
  refused(R"({"labels":{"a":1}})", "labels.a");
  refused(R"({"resources":{"memroy_mb":1}})", "did you mean memory_mb");
  refused(R"({"min_isolation":"strong"})", "min_isolation");
  refused(R"({"env":{"A=B":"x"}})", "env");
}

TEST_F(BadRequestsTest, WhatIsNoJsonIsSaidToBeNone) {
  for (const std::string body :
       {"", "{", "\xff\xfe", "[]", "null", "7", "{\"a\":1}x", "{\"ttl_s\":1,\"ttl_s\":2}",
        "{\"name\":\"\xff\"}", "{\"name\":\"\\ud800\"}"}) {
    refused(body, "");
  }
}

TEST_F(BadRequestsTest, DeepAndHugeJsonIsRefused) {
  refused(std::string(100'000, '[') + std::string(100'000, ']'), "deeper");
  refused(R"({"labels":)" + std::string(500, '[') + std::string(500, ']') + "}", "deeper");

  const auto huge = create(R"({"name":")" + std::string(33 << 20, 'a') + "\"}");
  EXPECT_EQ(huge.status, 413);
  EXPECT_EQ(huge["code"], "too_large");
  const std::string exec = "/v1/sandboxes/" + world_.create() + "/exec";
  EXPECT_EQ(
      world_.post(exec, R"({"argv":["cat"],"stdin":")" + std::string(9 << 20, 'a') + "\"}").status,
      413);
  EXPECT_EQ(
      world_.post(exec, R"({"argv":["cat"],"stdin":")" + std::string(7 << 20, 'a') + "\"}").status,
      200);
}

TEST_F(BadRequestsTest, BytesThatAreNoHttpAreRefused) {
  EXPECT_THAT(world_.raw("\x16\x03\x01\x02garbage\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(
      world_.raw("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(200'000, 'a') + "\r\n\r\n"),
      StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(world_.raw("GET /" + std::string(60'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 414"));
  EXPECT_THAT(world_.raw("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(BadRequestsTest, WhatTheServerItselfRefusesCarriesItsIdsAndStageToo) {
  for (const std::string& sent :
       {std::string("GET /v1/sandboxes/a%00b HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(200'000, 'a') + "\r\n\r\n"}) {
    const std::string answer = world_.raw(sent);

    EXPECT_THAT(answer, HasSubstr("\"request_id\":\"req")) << sent.substr(0, 60);
    EXPECT_THAT(answer, HasSubstr("\"trace_id\":\"")) << sent.substr(0, 60);
    EXPECT_THAT(answer, HasSubstr("\"stage\":\"request\"")) << sent.substr(0, 60);
  }
}

TEST_F(BadRequestsTest, OddPathsAndParametersAreNamed) {
  EXPECT_EQ(world_.get("/v1/sandboxes/%ff%fe").status, 404);
  EXPECT_EQ(world_.get("/v1/sandboxes/..").status, 404);
  EXPECT_EQ(world_.get("/v1/sandboxes/%2e%2e%2fx").status, 404);
  EXPECT_THAT(world_.get("/v1/drivers?x=1")["hint"], HasSubstr("none"));
  EXPECT_THAT(world_.get("/v1/sandboxes?x=1")["hint"], HasSubstr("label"));
}

TEST_F(BadRequestsTest, ABackendThatIsDownIsWorthAnotherTry) {
  // The only driver there is, so it was asked a second time.
  world_.host().fail("create", Error(Code::unavailable, "the backend sleeps"), 2);

  const auto answer = create("{}");

  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer["retryable"], "true");
  EXPECT_EQ(answer["stage"], "create");
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_THAT(answer["detail"], HasSubstr("the backend sleeps"));
}

TEST_F(BadRequestsTest, AFullDiskIsSaidToBeFull) {
  world_.host().fail("create", Error(Code::out_of_space, "no room"));

  EXPECT_EQ(create("{}").status, 507);
}

}  // namespace
}  // namespace atl
