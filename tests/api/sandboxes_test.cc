// /v1/sandboxes: what a client is told about sandboxes.
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class SandboxesTest : public ::testing::Test {
 protected:
  size_t count(std::string target) {
    return world_.get(std::move(target)).json().at("sandboxes").as_array().size();
  }

  ApiWorld world_;
};

TEST_F(SandboxesTest, CreateTellsEverythingThatWasPromised) {
  const auto answer = world_.post("/v1/sandboxes", R"({"name":"web","user_id":"u1","ttl_s":60,
    "idle_s":30,"labels":{"a":"b"},"env":{"TOKEN":"hush"},"resources":{"memory_mb":64}})");

  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_THAT(answer["id"], MatchesRegex("sbx[a-z0-9]+"));
  EXPECT_EQ(answer["name"], "web");
  EXPECT_EQ(answer["state"], "running");
  EXPECT_EQ(answer["driver"], "fake");
  EXPECT_EQ(answer["isolation"], "container");
  EXPECT_EQ(answer["placement"], "host");
  EXPECT_EQ(answer["profile"], "none");
  EXPECT_EQ(answer["user_id"], "u1");
  EXPECT_EQ(answer["created_at"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(answer["expires_at"], "2023-11-14T22:14:20.000Z");
  EXPECT_EQ(answer["idle_s"], "30");
  EXPECT_EQ(answer["labels"], R"({"a":"b"})");
  EXPECT_EQ(answer["resources"], R"({"memory_mb":64})");
  EXPECT_THAT(answer.json().at("stages").as_array(), SizeIs(4));
  EXPECT_EQ(answer.header("Location"), "/v1/sandboxes/" + answer["id"]);
  EXPECT_THAT(answer.body, Not(HasSubstr("hush")));
}

TEST_F(SandboxesTest, AStartThatFailsIsToldStageByStage) {
  const auto refused = world_.post("/v1/sandboxes", R"({"min_isolation":"vm"})");

  ASSERT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused["stage"], "route");
  EXPECT_THAT(refused["sandbox"], MatchesRegex("sbx[a-z0-9]+"));
  ASSERT_THAT(refused.json().at("stages").as_array(), SizeIs(1));
  EXPECT_THAT(refused["stages"], HasSubstr(R"("name":"route")"));
  EXPECT_THAT(refused["stages"], HasSubstr("vm was asked"));
  EXPECT_EQ(refused.body.find("\"limit\""), std::string::npos);
  const auto record = world_.get("/v1/sandboxes/" + refused["sandbox"] + "/start");
  ASSERT_EQ(record.status, 200) << record.body;
  EXPECT_EQ(record["state"], "failed");
}

TEST_F(SandboxesTest, LabelsThatNoDriverHasAreRefusedInWords) {
  const auto refused = world_.post("/v1/sandboxes", R"({"driver_labels":{"zone":"eu"}})");

  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_THAT(refused["hint"], HasSubstr("has no label zone=eu"));
  EXPECT_EQ(world_.post("/v1/sandboxes", R"({"driver_labels":{"a b":"c"}})").status, 400);
}

TEST_F(SandboxesTest, TheSameNameAgainIsTheSameSandbox) {
  const auto id = world_.create(R"({"name":"web"})");

  const auto again = world_.post("/v1/sandboxes", R"({"name":"web"})");
  const auto other = world_.post("/v1/sandboxes", R"({"name":"web","labels":{"a":"b"}})");

  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again["id"], id);
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other["code"], "already_exists");
}

TEST_F(SandboxesTest, AnIdempotencyKeyGivesTheSameAnswerAndRefusesAnotherRequest) {
  const net::Headers key{{"Idempotency-Key", "k1"}};
  const auto create = [&](std::string body) {
    return world_.call(Method::post, "/v1/sandboxes", std::move(body), key);
  };

  const auto first = create(R"({"name":"a","ttl_s":60})");
  const auto again = create(R"({ "ttl_s": 60, "name": "a" })");
  const auto other = create(R"({"name":"a","ttl_s":61})");

  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again["id"], first["id"]);
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other["code"], "idempotency_mismatch");
}

TEST_F(SandboxesTest, AnIdempotencyKeyWhoseSandboxHasEndedIsAConflict) {
  const net::Headers key{{"Idempotency-Key", "k1"}};
  const auto first = world_.call(Method::post, "/v1/sandboxes", "{}", key);
  ASSERT_EQ(world_.call(Method::delete_, "/v1/sandboxes/" + first["id"], "").status, 204);

  const auto again = world_.call(Method::post, "/v1/sandboxes", "{}", key);

  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again["code"], "conflict");
  EXPECT_THAT(again["hint"], HasSubstr("new Idempotency-Key"));
}

TEST_F(SandboxesTest, IsFoundByIdAndByName) {
  const auto id = world_.create(R"({"name":"web"})");

  EXPECT_EQ(world_.get("/v1/sandboxes/" + id)["name"], "web");
  EXPECT_EQ(world_.get("/v1/sandboxes/web")["id"], id);
  EXPECT_EQ(world_.get("/v1/sandboxes/nobody").status, 404);
}

TEST_F(SandboxesTest, ListFiltersAndPages) {
  world_.create(R"({"name":"a","labels":{"team":"x","tier":"1"}})");
  world_.create(R"({"name":"b","labels":{"team":"x"},"user_id":"u"})");
  world_.create(R"({"name":"c"})");

  EXPECT_EQ(count("/v1/sandboxes"), 3U);
  EXPECT_EQ(count("/v1/sandboxes?label=team=x"), 2U);
  EXPECT_EQ(count("/v1/sandboxes?label=team=x&label=tier=1"), 1U);
  EXPECT_EQ(count("/v1/sandboxes?user_id=u"), 1U);
  EXPECT_EQ(count("/v1/sandboxes?name=c"), 1U);
  EXPECT_EQ(count("/v1/sandboxes?state=paused"), 0U);
  EXPECT_EQ(count("/v1/sandboxes?driver=fake&state=running"), 3U);

  const auto first = world_.get("/v1/sandboxes?limit=2");
  EXPECT_THAT(first.json().at("sandboxes").as_array(), SizeIs(2));
  const auto second =
      world_.get("/v1/sandboxes?limit=2&cursor=" + net::percent_encode(first["next_cursor"]));
  EXPECT_THAT(second.json().at("sandboxes").as_array(), SizeIs(1));
  EXPECT_EQ(second["next_cursor"], "null");
}

TEST_F(SandboxesTest, ListRefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(world_.get("/v1/sandboxes?limit=0").status, 400);
  EXPECT_EQ(world_.get("/v1/sandboxes?limit=1001").status, 400);
  EXPECT_EQ(world_.get("/v1/sandboxes?limit=-1").status, 400);
  EXPECT_EQ(world_.get("/v1/sandboxes?limit=1&limit=2").status, 400);
  EXPECT_EQ(world_.get("/v1/sandboxes?label=novalue").status, 400);
  EXPECT_THAT(world_.get("/v1/sandboxes?state=runing")["detail"], HasSubstr("running"));
  EXPECT_THAT(world_.get("/v1/sandboxes?sate=running")["detail"], HasSubstr("did you mean state"));
}

TEST_F(SandboxesTest, DeleteLeavesNothing) {
  const auto id = world_.create();

  EXPECT_EQ(world_.call(Method::delete_, "/v1/sandboxes/" + id).status, 204);

  EXPECT_FALSE(world_.host().has(id));
  EXPECT_EQ(world_.call(Method::delete_, "/v1/sandboxes/" + id).status, 404);
}

TEST_F(SandboxesTest, VerbsChangeTheState) {
  world_.host().capabilities.pause = Pause::processes;
  const auto id = world_.create();
  const std::string path = "/v1/sandboxes/" + id;

  EXPECT_EQ(world_.post(path + "/stop")["state"], "stopped");
  EXPECT_EQ(world_.post(path + "/exec", R"({"argv":["true"]})").status, 409);
  EXPECT_EQ(world_.post(path + "/start", "{}")["state"], "running");
  EXPECT_EQ(world_.post(path + "/recreate")["state"], "running");
  EXPECT_EQ(world_.post(path + "/renew", R"({"ttl_s":7200})")["expires_at"],
            "2023-11-15T00:13:20.000Z");
  EXPECT_EQ(world_.post(path + "/stop", R"({"now":true})").status, 400);
}

TEST_F(SandboxesTest, WhatADriverLacksIsToldWithThoseThatCan) {
  const std::string path = "/v1/sandboxes/" + world_.create();

  for (const std::string verb : {"pause", "snapshot", "fork"}) {
    const auto answer = world_.post(path + "/" + verb);

    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_EQ(answer["code"], "unsupported") << answer.body;
    EXPECT_THAT(answer["detail"] + answer["hint"], HasSubstr("fake"));
  }
}

// A host that can do what the tests below are about.
class AbleHostTest : public ::testing::Test {
 protected:
  ApiWorld world_{{}, [](FakeHost& host) {
                    host.capabilities.pause = Pause::processes;
                    host.capabilities.resize = true;
                    host.capabilities.users = true;
                    host.capabilities.root_dir = true;
                  }};
};

TEST_F(AbleHostTest, PauseAndResumeAreStatesAndAPausedOneTakesNoCommand) {
  const std::string path = "/v1/sandboxes/" + world_.create();

  EXPECT_EQ(world_.post(path + "/pause")["state"], "paused");
  const auto refused = world_.post(path + "/exec", R"({"argv":["true"]})");
  EXPECT_EQ(world_.post(path + "/resume")["state"], "running");

  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused["code"], "conflict");
  EXPECT_EQ(refused["hint"], "resume it first");
}

TEST_F(AbleHostTest, APatchChangesTheLimitsThatItNames) {
  const std::string path =
      "/v1/sandboxes/" + world_.create(R"({"resources":{"memory_mb":64,"pids":9}})");

  const auto patched = world_.call(Method::patch, path, R"({"resources":{"memory_mb":128}})");

  EXPECT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(patched["resources"], R"({"memory_mb":128,"pids":9})");
  EXPECT_EQ(world_.call(Method::patch, path, "{}").status, 400);
  EXPECT_EQ(world_.call(Method::patch, path, R"({"resources":{}})").status, 400);
  EXPECT_EQ(world_.call(Method::patch, path, R"({"resources":{"sharing":"shared"}})").status, 400);
  EXPECT_EQ(world_.call(Method::patch, path, R"({"name":"new"})").status, 400);
}

TEST_F(AbleHostTest, UserAndDirectoryAreToldAndHoldForCommands) {
  const auto made = world_.post("/v1/sandboxes", R"({"user":"root","cwd":"/srv"})");
  const std::string path = "/v1/sandboxes/" + made["id"] + "/exec";

  EXPECT_EQ(made["user"], "root");
  EXPECT_EQ(made["cwd"], "/srv");
  EXPECT_EQ(world_.post(path, R"({"argv":["whoami"]})")["stdout"], "root in /srv\n");
  EXPECT_EQ(world_.post(path, R"({"argv":["whoami"],"user":"user"})")["stdout"], "user in /srv\n");
  const auto run = world_.post(
      "/v1/runs", R"({"sandbox":{"user":"root"},"exec":{"argv":["whoami"],"cwd":"/tmp"}})");
  EXPECT_EQ(run["stdout"], "root in /tmp\n");
}

TEST_F(SandboxesTest, ARunAsSomebodyElseNeedsADriverThatCan) {
  const auto refused = world_.post("/v1/runs", R"({"exec":{"argv":["true"],"user":"root"}})");

  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused["code"], "unsupported");
}

TEST_F(SandboxesTest, ARootFileSystemIsGivenLikeOtherDirectoriesOfTheHost) {
  const auto remote = world_.post("/v1/sandboxes", R"({"rootfs":"/"})");
  const auto lacking = world_.local(Method::post, "/v1/sandboxes", R"({"rootfs":"/"})");
  EXPECT_EQ(remote.status, 403);
  EXPECT_THAT(remote["detail"], HasSubstr("rootfs"));
  EXPECT_EQ(lacking["code"], "unsupported");
}

TEST_F(AbleHostTest, ARootFileSystemReachesTheDriverOpen) {
  const auto made = world_.local(Method::post, "/v1/sandboxes", R"({"rootfs":"/usr"})");

  ASSERT_EQ(made.status, 201) << made.body;
  const auto& root = world_.host().boxes.at(made["id"])->spec.root;
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->directory);
  EXPECT_EQ(root->host_path, "/usr");
  const auto missing = world_.local(Method::post, "/v1/sandboxes", R"({"rootfs":"/nowhere"})");
  EXPECT_EQ(missing.status, 400);
  EXPECT_THAT(missing["detail"], HasSubstr("rootfs"));
}

TEST_F(AbleHostTest, ADiffTellsCopiesAndChangesByteExact) {
  const auto made = world_.local(Method::post, "/v1/sandboxes", R"({"rootfs":"/usr"})");
  auto& changes = world_.host().boxes.at(made["id"])->changes;
  changes.push_back({ChangeKind::modified, FileKind::file, "/etc/motd", 5, 0644,
                     std::chrono::nanoseconds(1'700'000'000'123'456'789), ""});
  changes.push_back({ChangeKind::added, FileKind::symlink, "/b\xff", 0, 0777, {}, "../x"});

  const auto told = world_.get("/v1/sandboxes/" + made["id"] + "/diff");

  ASSERT_EQ(told.status, 200) << told.body;
  EXPECT_EQ(told["created_at"], made["created_at"]);
  EXPECT_EQ(told["copies"], R"([{"path":"/","host_path":"/usr"}])");
  EXPECT_EQ(told["changes"],
            R"([{"change":"modified","kind":"file","path":"/etc/motd","size":5,"mode":"0644",)"
            R"("modified_ns":"1700000000123456789"},)"
            R"({"change":"added","kind":"symlink","path_b64":"L2L/","size":0,"mode":"0777",)"
            R"("modified_ns":"0","link_target":"../x"}])");
}

TEST_F(SandboxesTest, ADriverThatCannotTellChangesSaysSo) {
  const auto answer = world_.get("/v1/sandboxes/" + world_.create() + "/diff?path=src");

  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer["code"], "unsupported");
}

TEST_F(SandboxesTest, ExplainTellsThePlanAndMakesNothing) {
  const auto told = world_.post("/v1/sandboxes:explain", R"({"resources":{"cpu":1}})");
  const auto refused = world_.post("/v1/sandboxes:explain", R"({"min_isolation":"vm"})");

  EXPECT_EQ(told.status, 200) << told.body;
  EXPECT_EQ(told["driver"], "fake");
  EXPECT_EQ(told["isolation"], "container");
  EXPECT_EQ(told["plan"], "made by fake\n");
  EXPECT_EQ(refused["code"], "unsupported");
  EXPECT_THAT(world_.host().ids(), ::testing::IsEmpty());
}

TEST_F(SandboxesTest, NumbersThatMakeNoSenseAreRefusedByName) {
  const auto refused = [&](std::string body, std::string field) {
    const auto answer = world_.post("/v1/sandboxes", std::move(body));
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_THAT(answer["detail"], HasSubstr(field));
  };

  refused(R"({"ttl_s":0})", "ttl_s");
  refused(R"({"ttl_s":-1})", "ttl_s");
  refused(R"({"ttl_s":9223372036854775807})", "ttl_s");
  refused(R"({"ttl_s":1e300})", "ttl_s");
  refused(R"({"idle_s":-5})", "idle_s");
  refused(R"({"resources":{"cpu":0}})", "resources.cpu");
  refused(R"({"resources":{"memory_mb":-1}})", "resources.memory_mb");
  refused(R"({"resources":{"pids":1.5}})", "resources.pids");
  EXPECT_EQ(world_.post("/v1/sandboxes/" + world_.create() + "/fork", R"({"count":0})").status,
            400);
  EXPECT_EQ(world_.post("/v1/sandboxes/x/fork", R"({"count":65})").status, 400);
  EXPECT_THAT(world_.post("/v1/sandboxes/x/fork", R"({"count":-1})").body,
              HasSubstr("between 1 and 64"));
  refused(R"({"image":""})", "image");
  refused(R"({"runtime":""})", "runtime");
}

TEST_F(SandboxesTest, IsolationLevelIsAnAliasOfTheFloor) {
  EXPECT_EQ(world_.post("/v1/sandboxes", R"({"isolation_level":"container"})").status, 201);
  EXPECT_EQ(world_.post("/v1/sandboxes", R"({"min_isolation":"vm"})").status, 409);
  EXPECT_EQ(world_.post("/v1/sandboxes", R"({"isolation_level":"vm"})").status, 409);
  EXPECT_EQ(
      world_.post("/v1/sandboxes", R"({"isolation_level":"vm","min_isolation":"none"})").status,
      400);
}

TEST_F(SandboxesTest, StatsAndDriversAreTold) {
  const auto id = world_.create();

  const auto stats = world_.get("/v1/sandboxes/" + id + "/stats");
  const auto drivers = world_.get("/v1/drivers");

  EXPECT_EQ(stats.status, 200);
  EXPECT_NE(stats["processes"], "");
  const auto listed = drivers.json().at("drivers").as_array();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].at("name").as_string(), "fake");
  EXPECT_EQ(listed[0].at("available").as_bool(), true);
  EXPECT_EQ(listed[0].at("capabilities").at("isolation").as_string(), "container");
}

}  // namespace
}  // namespace atl
