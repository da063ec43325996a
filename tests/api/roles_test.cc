// Keys, roles, tokens and how often one may ask; tenancy_test.py tries every route as everybody.
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

net::Headers with(const std::string& key) { return {{"Authorization", "Bearer " + key}}; }

TEST(KeysApi, AKeyIsToldOnceAndWorksUntilItIsRevoked) {
  ApiWorld world;

  const auto made =
      world.post("/v1/keys", R"({"tenant":"acme","role":"viewer","label":"board","ttl_s":60})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.header("Cache-Control"), "no-store");
  EXPECT_THAT(made["key"], ::testing::StartsWith("atk_"));
  const auto listed = world.get("/v1/keys");
  EXPECT_THAT(listed.body, HasSubstr(made["id"]));
  EXPECT_THAT(listed.body, HasSubstr(R"("label":"board")"));
  EXPECT_THAT(listed.body, Not(HasSubstr("atk_")));

  const auto who = world.bare(Method::get, "/v1/whoami", with(made["key"]));
  EXPECT_EQ(who["tenant"], "acme");
  EXPECT_EQ(who["subject"], made["id"]);
  EXPECT_EQ(who["role"], "viewer");
  EXPECT_EQ(who["may"], R"(["open","know","survey","measure","look"])");

  EXPECT_EQ(world.call(Method::delete_, "/v1/keys/" + made["id"]).status, 204);
  EXPECT_EQ(world.bare(Method::get, "/v1/whoami", with(made["key"])).status, 401);
  EXPECT_EQ(world.call(Method::delete_, "/v1/keys/" + made["id"]).status, 404);
}

TEST(KeysApi, WithoutATenantItIsTheMakersOwn) {
  ApiWorld world;

  EXPECT_EQ(world.post("/v1/keys", R"({"role":"agent"})")["tenant"], "default");
  EXPECT_EQ(world.post("/v1/keys", R"({})").status, 400) << "a role is named, never guessed";
  EXPECT_EQ(world.post("/v1/keys", R"({"role":"user"})").status, 400);
  EXPECT_EQ(world.post("/v1/keys", R"({"role":"agent","tenant":"Acme!"})").status, 400);
  EXPECT_EQ(world.post("/v1/keys", R"({"role":"agent","ttl_s":0})").status, 400);
}

TEST(Tenants, ListsAreTheirOwnUnlessAnAdminAsks) {
  ApiWorld world;
  const auto mine = world.create();
  const auto key = world.make_key("acme");
  const auto theirs = world.call(Method::post, "/v1/sandboxes", "{}", with(key))["id"];

  EXPECT_THAT(world.get("/v1/sandboxes").body, Not(HasSubstr(theirs)));
  EXPECT_THAT(world.get("/v1/sandboxes?tenant=acme").body, HasSubstr(theirs));
  EXPECT_THAT(world.get("/v1/sandboxes?tenant=acme").body, Not(HasSubstr(mine)));
  const auto all = world.get("/v1/sandboxes?tenant=*").body;
  EXPECT_THAT(all, HasSubstr(theirs));
  EXPECT_THAT(all, HasSubstr(mine));

  const auto own = world.bare(Method::get, "/v1/sandboxes?tenant=acme", with(key));
  EXPECT_THAT(own.body, HasSubstr(theirs));
  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes?tenant=*", with(key)).status, 403);
  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes?tenant=default", with(key)).status, 403);
}

TEST(Tenants, ANameIsTheirOwnToo) {
  ApiWorld world;
  const auto mine = world.create(R"({"name":"web"})");
  const auto key = world.make_key("acme");

  const auto theirs = world.call(Method::post, "/v1/sandboxes", R"({"name":"web"})", with(key));

  EXPECT_EQ(theirs.status, 201);
  EXPECT_NE(theirs["id"], mine);
  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes/web", with(key))["id"], theirs["id"]);
  EXPECT_EQ(world.get("/v1/sandboxes/web")["id"], mine);
}

TEST(Tenants, AForeignIdIsAnsweredLikeOneThatNeverWas) {
  ApiWorld world;
  const auto key = world.make_key("acme");
  const std::string alive = world.create();
  const std::string ended = world.create();
  ASSERT_EQ(world.call(Method::delete_, "/v1/sandboxes/" + ended).status, 204);
  const auto ask = [&](const std::string& id) {
    auto headers = with(key);
    headers.add("X-Request-Id", "r");
    headers.add("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    auto body = world.bare(Method::get, "/v1/sandboxes/" + id, headers).body;
    const size_t at = body.find(id);
    return at == std::string::npos ? body : body.replace(at, id.size(), "ID");
  };

  const auto never = ask("sbx00000000000000000000");

  EXPECT_THAT(never, HasSubstr("\"status\":404"));
  EXPECT_EQ(ask(alive), never);
  EXPECT_EQ(ask(ended), never);
}

TEST(Agents, DoNotMeetThroughNamesOrIdempotencyKeys) {
  ApiWorld world;
  const auto one = world.make_key("acme", Role::agent);
  const auto two = world.make_key("acme", Role::agent);
  const auto make = [&](const std::string& key, std::string body, const char* idempotency) {
    auto headers = with(key);
    if (*idempotency != '\0') headers.add("Idempotency-Key", idempotency);
    return world.call(Method::post, "/v1/sandboxes", std::move(body), headers);
  };
  const auto named = make(one, R"({"name":"web"})", "");
  const auto keyed = make(one, "{}", "k1");
  ASSERT_EQ(named.status, 201);
  ASSERT_EQ(keyed.status, 201);

  const auto same_name = make(two, R"({"name":"web"})", "");
  const auto same_key = make(two, "{}", "k1");

  EXPECT_EQ(same_name.status, 409);
  EXPECT_THAT(same_name.body, Not(HasSubstr(named["id"])));
  EXPECT_EQ(same_key.status, 422);
  EXPECT_THAT(same_key.body, Not(HasSubstr(keyed["id"])));
  EXPECT_EQ(make(one, R"({"name":"web"})", "").status, 200);
  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes/web", with(two)).status, 404);
}

TEST(Tokens, AreGoodForOneSandbox) {
  ApiWorld world;
  const auto box = world.create();
  const auto other = world.create();

  const auto made = world.post("/v1/sandboxes/" + box + "/token", R"({"ttl_s":60})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.header("Cache-Control"), "no-store");
  const auto token = with(made["token"]);

  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes/" + box, token).status, 200);
  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes/" + other, token).status, 404);
  EXPECT_THAT(world.bare(Method::get, "/v1/sandboxes", token).body, Not(HasSubstr(other)));
  EXPECT_EQ(world.bare(Method::delete_, "/v1/sandboxes/" + box, token).status, 403);
  EXPECT_EQ(world.bare(Method::get, "/v1/whoami", token)["sandbox"], box);
  EXPECT_EQ(world.bare(Method::get, "/v1/whoami", token)["role"], "");

  world.clock().advance(seconds(60));
  EXPECT_EQ(world.bare(Method::get, "/v1/sandboxes/" + box, token).status, 401);
}

TEST(Sockets, OtherUsersAreTenantsOfTheirOwnWhereTheOperatorSaysSo) {
  ApiWorld world({.visitors = {.trusted_uid = 1'000, .local_users = api::LocalUsers::members}});
  const auto ask = [&](uid_t uid, const std::string& line, const std::string& body = "") {
    const std::string request = line +
                                " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    return world.raw(request, {.credentials = net::PeerCredentials{1, uid, uid}});
  };

  EXPECT_THAT(ask(1'000, "GET /v1/whoami"), HasSubstr(R"("role":"admin")"));
  EXPECT_THAT(ask(0, "GET /v1/whoami"), HasSubstr(R"("role":"admin")"));
  const auto other = ask(1'001, "GET /v1/whoami");
  EXPECT_THAT(other, HasSubstr(R"("tenant":"uid:1001","subject":"uid:1001","role":"member")"));
  EXPECT_THAT(ask(1'001, "POST /v1/sandboxes", "{}"), HasSubstr("201 Created"));
  EXPECT_THAT(ask(1'001, "GET /v1/sandboxes"), HasSubstr("\"owner\":\"uid:1001\""));
  EXPECT_THAT(ask(1'002, "GET /v1/sandboxes"), Not(HasSubstr("uid:1001")));
  EXPECT_THAT(ask(1'001, "POST /v1/sandboxes", R"({"host_dirs":[{"path":"/tmp","access":"ro"}]})"),
              HasSubstr("403"));
}

TEST(Sockets, AMembersKeyDoesNotGetDirectoriesOfTheHostAtTheTrustedSocketEither) {
  ApiWorld world;
  world.host().capabilities.host_dir_ro = true;
  const auto ask = [&](const std::string& key) {
    const std::string body =
        R"({"host_dirs":[{"path":"/tmp","access":"ro","guest_path":"/data"}]})";
    const std::string request =
        "POST /v1/sandboxes HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: " + key +
        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    return world.raw(request, {.credentials = net::PeerCredentials{1, 0, 0}}).substr(9, 3);
  };

  EXPECT_EQ(ask(world.make_key("default")), "403");
  EXPECT_NE(ask(world.key()), "403");
}

TEST(Limits, TellWhatOneMayAskFor) {
  ApiWorld world({.requests = {.per_second = 5, .burst = 10}});
  const auto key = world.make_key("acme");
  ASSERT_EQ(world.call(Method::post, "/v1/sandboxes", "{}", with(key)).status, 201);

  const auto told = world.bare(Method::get, "/v1/limits", with(key));

  EXPECT_EQ(told["sandboxes_now"], "1");
  EXPECT_EQ(told["sandboxes"], "10000");
  EXPECT_EQ(told["requests_per_s"], "5");
  EXPECT_EQ(told["requests_burst"], "10");
  EXPECT_EQ(told["ttl_s"], "604800");
  EXPECT_EQ(told["host_dirs"], "0");
  EXPECT_EQ(world.get("/v1/limits")["requests_per_s"], "null") << "an admin has no such limit";
  EXPECT_EQ(world.local(Method::get, "/v1/limits")["host_dirs"], "32");
}

TEST(Limits, AQuotaIsToldWithItsUseAndRefusedWithBoth) {
  ApiWorld world;
  const auto key = world.make_key("narrow");
  const auto create = [&](std::string body) {
    return world.call(Method::post, "/v1/sandboxes", std::move(body), with(key));
  };
  ASSERT_EQ(create(R"({"resources":{"memory_mb":600}})").status, 201);

  const auto told = world.bare(Method::get, "/v1/limits", with(key));
  const auto refused = create(R"({"resources":{"memory_mb":500}})");

  EXPECT_EQ(told["memory_mb"], "1000");
  EXPECT_EQ(told["memory_mb_now"], "600");
  EXPECT_EQ(told["cpus"], "null");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused["stage"], "admission");
  EXPECT_EQ(refused["limit"], "memory_mb");
  EXPECT_EQ(refused["limit_most"], "1000");
  EXPECT_EQ(refused["limit_used"], "600");
  EXPECT_EQ(refused["limit_asked"], "500");
  EXPECT_EQ(refused.header("Retry-After"), refused["retry_after_s"]);
}

TEST(Limits, OfAnotherTenantAreForAdmins) {
  ApiWorld world;

  EXPECT_EQ(world.get("/v1/limits?tenant=narrow")["memory_mb"], "1000");
  const auto refused =
      world.bare(Method::get, "/v1/limits?tenant=narrow", with(world.make_key("acme")));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused["code"], "permission_denied");
}

TEST(Rates, AKeyThatAsksTooOftenIsToldWhenToComeBack) {
  ApiWorld world({.requests = {.per_second = 0.25, .burst = 3}});
  const auto busy = world.make_key("acme");
  const auto calm = world.make_key("acme");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(world.bare(Method::get, "/v1/whoami", with(busy)).status, 200);
  }

  const auto refused = world.bare(Method::get, "/v1/whoami", with(busy));

  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused["code"], "resource_exhausted");
  EXPECT_EQ(refused["retryable"], "true");
  EXPECT_EQ(refused.header("Retry-After"), "4");
  EXPECT_EQ(world.bare(Method::get, "/v1/whoami", with(calm)).status, 200);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(world.get("/v1/whoami").status, 200);
  world.clock().advance(seconds(4));
  EXPECT_EQ(world.bare(Method::get, "/v1/whoami", with(busy)).status, 200);
}

TEST(Rates, WrongKeysRunOutButARightOneIsAlwaysTaken) {
  ApiWorld world({.failed_logins = {.per_second = 0.5, .burst = 2}});

  EXPECT_EQ(world.bare(Method::get, "/v1/whoami", with("wrong")).status, 401);
  EXPECT_EQ(world.bare(Method::get, "/v1/whoami").status, 401);
  const auto refused = world.bare(Method::get, "/v1/whoami", with("wrong"));

  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "2");
  EXPECT_EQ(world.get("/v1/whoami").status, 200);
  EXPECT_EQ(world.bare(Method::get, "/healthz").status, 200);
}

TEST(Cors, IsOffUnlessAnOriginIsNamed) {
  ApiWorld world;
  const net::Headers page{{"Origin", "https://console.example"},
                          {"Access-Control-Request-Method", "POST"}};

  for (const auto& answer : {world.call(Method::get, "/v1/whoami", "", page),
                             world.bare(Method::get, "/v1/whoami", page),
                             world.bare(Method::options, "/v1/sandboxes", page),
                             world.bare(Method::get, "/healthz", page)}) {
    for (const char* name : {"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Vary",
                             "Access-Control-Allow-Headers", "Access-Control-Expose-Headers"}) {
      EXPECT_FALSE(answer.headers.contains(name)) << name;
    }
  }
  EXPECT_EQ(world.bare(Method::options, "/v1/sandboxes", page).status, 405);
}

TEST(Cors, IsForTheNamedOriginsAlone) {
  ApiWorld world({.origins = {"https://console.example"}});
  const net::Headers named{{"Origin", "https://console.example"},
                           {"Access-Control-Request-Method", "POST"}};
  const net::Headers other{{"Origin", "https://evil.example"},
                           {"Access-Control-Request-Method", "POST"}};

  const auto preflight = world.bare(Method::options, "/v1/sandboxes", named);
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("Access-Control-Allow-Origin"), "https://console.example");
  EXPECT_THAT(preflight.header("Access-Control-Allow-Methods"), HasSubstr("POST"));
  EXPECT_THAT(preflight.header("Access-Control-Allow-Headers"), HasSubstr("Authorization"));
  EXPECT_EQ(preflight.header("Access-Control-Allow-Credentials"), "");
  const auto answer = world.bare(Method::get, "/v1/whoami", named);
  EXPECT_EQ(answer.status, 401) << "a page needs a key like everybody";
  EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "https://console.example");
  EXPECT_EQ(answer.header("Vary"), "Origin");

  EXPECT_EQ(world.bare(Method::options, "/v1/sandboxes", other).status, 405);
  EXPECT_EQ(world.bare(Method::get, "/healthz", other).header("Access-Control-Allow-Origin"), "");
}

}  // namespace
}  // namespace atl
