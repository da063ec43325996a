// Who may call what, and what every answer carries.
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Access, OnlyHealthAndReadinessAreOpen) {
  ApiWorld world;

  EXPECT_EQ(world.bare(Method::get, "/healthz").status, 200);
  EXPECT_EQ(world.bare(Method::get, "/readyz").status, 200);
  EXPECT_EQ(world.bare(Method::get, "/metrics").status, 401);
  EXPECT_EQ(world.bare(Method::get, "/v1/version").status, 401);
  const auto answer = world.bare(Method::get, "/v1/sandboxes");
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer["code"], "unauthenticated");
  EXPECT_EQ(answer["stage"], "authenticate");
  EXPECT_THAT(answer["hint"], HasSubstr("Bearer"));
  EXPECT_THAT(answer.header("WWW-Authenticate"), HasSubstr("Bearer"));
}

TEST(Access, AWrongKeyIsRefused) {
  ApiWorld world;

  EXPECT_EQ(world.bare(Method::get, "/v1/drivers", {{"Authorization", "Bearer wrong"}}).status,
            401);
  EXPECT_EQ(world.bare(Method::get, "/v1/drivers", {{"Authorization", "Basic abc"}}).status, 401);
  EXPECT_EQ(world.bare(Method::get, "/v1/drivers", {{"Authorization", ""}}).status, 401);
  EXPECT_EQ(world.bare(Method::get, "/v1/drivers", {{"X-API-Key", ""}}).status, 401);
}

TEST(Access, BothWaysToShowAKeyWork) {
  ApiWorld world;
  const auto key = world.user_key();

  EXPECT_EQ(world.bare(Method::get, "/v1/drivers", {{"X-API-Key", key}}).status, 200);
  EXPECT_EQ(world.bare(Method::get, "/v1/drivers", {{"Authorization", "bearer " + key}}).status,
            200);
}

TEST(Access, ATenantSeesOnlyItsOwn) {
  ApiWorld world;
  const auto id = world.create();
  const net::Headers stranger{{"X-API-Key", world.user_key()}};

  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes/" + id, stranger).status, 404);
  EXPECT_EQ(world.bare(Method::delete_, "/v1/sandboxes/" + id, stranger).status, 404);
  EXPECT_TRUE(world.host().has(id));
}

TEST(Access, OnlyAnAdministratorShutsDown) {
  ApiWorld world;

  const auto refused = world.call(Method::post, "/v1/shutdown", R"({"sandboxes":"end"})",
                                  {{"Authorization", "Bearer " + world.user_key()}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_TRUE(world.shutdowns.empty());

  EXPECT_EQ(world.post("/v1/shutdown", R"({"sandboxes":"end"})").status, 202);
  EXPECT_EQ(world.local(Method::post, "/v1/shutdown", R"({"sandboxes":"leave"})").status, 202);
  EXPECT_THAT(world.shutdowns,
              ::testing::ElementsAre(Ending::end_sandboxes, Ending::leave_sandboxes));
}

TEST(Access, TheDaemonsOwnUserNeedsNoKeyOnTheSocket) {
  ApiWorld world;

  EXPECT_EQ(world.local(Method::get, "/v1/version")["version"], "1.2.3");
}

TEST(Access, OtherUsersNeedAKeyOnTheSocketToo) {
  ApiWorld world({.visitors = {.trusted_uid = 1'000}});
  const auto status_for = [&](uid_t uid) {
    const std::string request = "GET /v1/version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    return world.raw(request, {.credentials = net::PeerCredentials{1, uid, uid}}).substr(9, 3);
  };

  EXPECT_EQ(status_for(1'000), "200");
  EXPECT_EQ(status_for(0), "200");
  EXPECT_EQ(status_for(1'001), "401");
}

TEST(Access, DirectoriesOfTheHostAreGivenOnlyOnTheTrustedSocket) {
  ApiWorld world;
  world.host().capabilities.host_dir_ro = true;
  const std::string body = R"({"host_dirs":[{"path":"/tmp","access":"ro","guest_path":"/data"}]})";

  const auto remote = world.post("/v1/sandboxes", body);
  EXPECT_EQ(remote.status, 403);
  EXPECT_THAT(remote["detail"], HasSubstr("Unix socket"));

  EXPECT_EQ(world.local(Method::post, "/v1/sandboxes",
                        R"({"host_dirs":[{"path":"tmp","access":"ro"}]})")["detail"],
            "host_dirs[0].path: it is an absolute path on this host");
  EXPECT_THAT(world.local(Method::post, "/v1/sandboxes",
                          R"({"host_dirs":[{"path":"/tmp/none/such","access":"ro"}]})")["detail"],
              HasSubstr("host_dirs[0].path"));
  EXPECT_EQ(
      world.local(Method::post, "/v1/sandboxes", R"({"host_dirs":[{"access":"rw"}]})")["detail"],
      "host_dirs[0].path: missing");
}

TEST(Access, ADirectoryOfTheHostIsReadOnlyUnlessItSaysOtherwise) {
  ApiWorld world;
  world.host().capabilities.host_dir_ro = true;
  const auto ask = [&](const char* host_dirs) {
    return world.local(Method::post, "/v1/sandboxes",
                       std::string(R"({"host_dirs":)") + host_dirs + "}");
  };

  EXPECT_EQ(ask(R"([{"path":"/tmp","guest_path":"/data"}])").status, 201);
  EXPECT_THAT(ask(R"([{"path":"/tmp","guest_path":"/data","access":"rw"}])")["detail"],
              HasSubstr("no driver can serve this request"));
}

TEST(Requests, CarryTheirIdsThroughEveryAnswer) {
  ApiWorld world;
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const net::Headers headers{{"X-Request-Id", "mine-1"},
                             {"traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}};

  const auto error = world.call(Method::get, "/v1/sandboxes/none", "", headers);
  const auto fine = world.call(Method::get, "/v1/drivers", "", headers);

  EXPECT_EQ(error["request_id"], "mine-1");
  EXPECT_EQ(error["trace_id"], trace);
  EXPECT_EQ(error.header("X-Request-Id"), "mine-1");
  EXPECT_EQ(fine.header("X-Request-Id"), "mine-1");
  EXPECT_EQ(fine.header("X-Trace-Id"), trace);
}

TEST(Requests, InsaneIdsAreReplaced) {
  ApiWorld world;

  const auto answer =
      world.call(Method::get, "/v1/drivers", "",
                 {{"X-Request-Id", std::string(200, 'a')}, {"traceparent", "00-zz-00-01"}});

  EXPECT_THAT(answer.header("X-Request-Id"), MatchesRegex("req[a-z0-9]+"));
  EXPECT_THAT(answer.header("X-Trace-Id"), MatchesRegex("[0-9a-f]+"));
}

TEST(Requests, AreCountedByRoute) {
  ApiWorld world;
  const auto id = world.create();
  world.get("/v1/sandboxes/" + id);
  world.get("/nowhere/" + id);

  const auto text = world.get("/metrics").body;

  EXPECT_THAT(text, HasSubstr(R"(route="/v1/sandboxes/{id}",status="200"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(route="none",status="404"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr(id)));
}

TEST(Connections, AreCountedWhileTheyAreOpen) {
  ApiWorld world;

  EXPECT_THAT(world.get("/metrics").body, HasSubstr("atoll_http_open_connections 1\n"));
}

TEST(Routing, AMistypedPathIsAnsweredWithTheNearest) {
  ApiWorld world;

  EXPECT_THAT(world.get("/v1/sandbox")["hint"], HasSubstr("/v1/sandboxes?"));
  EXPECT_THAT(world.post("/v1/sandboxes/web/exce")["hint"], HasSubstr("/v1/sandboxes/web/exec?"));
  EXPECT_EQ(world.get("/").status, 404);
  EXPECT_EQ(world.get("/v1/sandboxes/").status, 404);
  EXPECT_EQ(world.get("/v1/sandboxes//stats").status, 404);
}

TEST(Routing, AWrongMethodIsToldTheRightOnes) {
  ApiWorld world;

  const auto answer = world.call(Method::patch, "/v1/sandboxes");
  const auto files = world.call(Method::post, "/v1/sandboxes/x/files?path=a");

  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer["code"], "method_not_allowed");
  EXPECT_EQ(answer.header("Allow"), "POST, GET, HEAD");
  EXPECT_EQ(files.header("Allow"), "GET, HEAD, PUT, DELETE");
}

TEST(Routing, ReadinessIsWhatTheDaemonSays) {
  ApiWorld world(
      {.readiness = [] { return Result<>(Error(Code::unavailable, "still starting")); }});

  const auto answer = world.bare(Method::get, "/readyz");

  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer["detail"], "still starting");
  EXPECT_EQ(answer["retryable"], "true");
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_EQ(world.bare(Method::head, "/healthz").status, 200);
}

}  // namespace
}  // namespace atl
