#include "client/connection.h"

#include <gmock/gmock.h>

#include "client/scripted_server_internal.h"

namespace atl::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kProblem[] =
    R"({"code":"unsupported","detail":"local cannot pause","hint":"use native","stage":"pause","request_id":"req7"})";

TEST(Problem, BecomesTheErrorThatItDescribes) {
  std::string request_id;

  const Error error = problem_to_error(409, kProblem, request_id);

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

TEST(Connection, ShowsItsKeyAndRemembersWhichRequestWasRefused) {
  ScriptedServer server({{.body = "{}"}, {.status = 409, .body = kProblem}, {.body = "{}"}});

  EXPECT_TRUE(server.run(server.connection->get("/v1/version")));
  EXPECT_THAT(server.keys, ElementsAre("Bearer k1"));
  const auto refused = server.run(server.connection->post("/v1/sandboxes/x/pause", "{}"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_EQ(server.request_id, "req7");
  EXPECT_TRUE(server.run(server.connection->get("/v1/version")));
  EXPECT_EQ(server.request_id, "");
}

TEST(Connection, CallersOfOneDaemonKnowOnlyOfTheirOwnRequests) {
  ScriptedServer server({{.status = 409, .body = kProblem}, {.body = "{}"}});
  std::string mine, others;
  Connection one = server.connection->for_caller(mine), two = server.connection->for_caller(others);

  EXPECT_FALSE(server.run(one.get("/")));
  EXPECT_TRUE(server.run(two.get("/")));
  EXPECT_EQ(mine, "req7");
  EXPECT_EQ(others, "");
}

TEST(Connection, AMissingKeyIsExplainedToPeople) {
  ScriptedServer server(
      {{.status = 401,
        .body = R"({"code":"unauthenticated","detail":"no key","hint":"send Authorization"})"}});

  const auto refused = server.run(server.connection->get("/"));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("ATOLL_API_KEY"));
}

TEST(Connection, ASandboxWithoutANameIsNotAskedFor) {
  ScriptedServer server({});

  for (const std::string& target : {sandbox_path(""), sandbox_path("", "/exec?x=1")}) {
    const auto refused = server.run(server.connection->post(target, "{}"));
    ASSERT_FALSE(refused) << target;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_EQ(refused.error().message(), "the sandbox's id or name is empty");
  }
}

TEST(Connection, WhatIsNoUrlIsSaidBeforeAnybodyIsCalled) {
  asio::io_context loop;
  std::string request_id;

  const auto made =
      Connection::create(loop.get_executor(), {.target = {"nonsense", ""}}, request_id);

  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().hint(), HasSubstr("http://host:port"));
}

}  // namespace
}  // namespace atl::client
