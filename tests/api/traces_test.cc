// Traces over HTTP: what is told of a request, to whom, and what never is.
#include "base/text.h"
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class TracesTest : public ::testing::Test {
 protected:
  Answer traced(Method method, std::string target, std::string body = "",
                std::string parent = kParent) {
    return world_.call(method, std::move(target), std::move(body), {{"traceparent", parent}});
  }
  json::Value trace(std::string id = kTrace) {
    const auto answer = world_.get("/v1/traces/" + id);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  }
  static std::vector<std::string> names(const json::Value& trace) {
    std::vector<std::string> names;
    for (const auto& span : trace.at("spans").as_array())
      names.emplace_back(span.at("name").as_string());
    return names;
  }
  static json::Object span(const json::Value& trace, std::string_view name) {
    for (const auto& one : trace.at("spans").as_array()) {
      if (one.at("name").as_string() == name) return one.as_object();
    }
    ADD_FAILURE() << "no span " << name;
    return {};
  }
  size_t count_listed(const std::string& query) {
    return world_.get("/v1/traces?" + query).json().at("traces").as_array().size();
  }

  ApiWorld world_;
};

TEST_F(TracesTest, ARunTellsItsStages) {
  const auto answer = traced(Method::post, "/v1/runs", R"({"exec":{"argv":["echo","hi"]}})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_TRUE(world_.wait_until([&] { return count_listed("limit=1") == 1; }));
  const auto told = trace();
  EXPECT_THAT(names(told),
              IsSupersetOf({"POST /v1/runs", "authorise", "decode", "route", "intent", "create",
                            "commit", "exec", "wake", "first_byte", "reply", "reap"}));
  const auto root = span(told, "POST /v1/runs");
  EXPECT_EQ(root.at("parent_span_id"), "00f067aa0ba902b7");
  EXPECT_EQ(root.at("attributes").at("http.response.status_code"), 200);
  EXPECT_EQ(span(told, "exec").at("parent_span_id"), root.at("span_id"));
  EXPECT_EQ(span(told, "wake").at("parent_span_id"), span(told, "exec").at("span_id"));
  EXPECT_EQ(span(told, "exec").at("attributes").at("process.executable.name"), "echo");
}

TEST_F(TracesTest, TheAnswerSaysWhereItStands) {
  const auto answer = traced(Method::post, "/v1/runs", R"({"exec":{"argv":["true"]}})");
  const std::string root(span(trace(), "POST /v1/runs").at("span_id").as_string());
  EXPECT_EQ(answer.header("traceparent"), "00-" + std::string(kTrace) + "-" + root + "-01");
  EXPECT_EQ(answer.header("X-Trace-Id"), kTrace);
}

TEST_F(TracesTest, WhatIsMalformedBeginsATraceOfItsOwn) {
  for (const char* parent :
       {"", "nonsense", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}) {
    const auto answer = traced(Method::post, "/v1/sandboxes", "{}", parent);
    EXPECT_EQ(answer.status, 201);
    const auto id = answer.header("X-Trace-Id");
    EXPECT_NE(id, kTrace) << parent;
    EXPECT_THAT(id, SizeIs(32));
    EXPECT_THAT(answer.header("traceparent"), HasSubstr(id));
  }
}

TEST_F(TracesTest, OfTwoParentsNoneIsBelieved) {
  const auto answer = world_.call(Method::post, "/v1/sandboxes", "{}",
                                  {{"traceparent", kParent}, {"traceparent", kParent}});
  EXPECT_NE(answer.header("X-Trace-Id"), kTrace);
}

TEST_F(TracesTest, AnErrorIsTold) {
  const auto answer = traced(Method::post, "/v1/sandboxes/nobody/exec", R"({"argv":["true"]})");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.header("X-Trace-Id"), kTrace);
  EXPECT_EQ(span(trace(), "POST /v1/sandboxes/{id}/exec").at("error"), "not_found");
}

TEST_F(TracesTest, RequestsOfOneTraceAreToldTogether) {
  const auto box = traced(Method::post, "/v1/sandboxes", "{}")["id"];
  traced(Method::post, "/v1/sandboxes/" + box + "/exec", R"({"argv":["true"]})");
  traced(Method::put, "/v1/sandboxes/" + box + "/files?path=a", "x");
  traced(Method::get, "/v1/sandboxes/" + box + "/files?path=a");
  traced(Method::post, "/v1/sandboxes/" + box + "/pause");
  traced(Method::delete_, "/v1/sandboxes/" + box);
  const auto told = trace();
  EXPECT_THAT(told.at("requests").as_array(), SizeIs(6));
  EXPECT_THAT(names(told), IsSupersetOf({"POST /v1/sandboxes", "exec", "write_file", "read_file",
                                         "pause", "destroy"}));
  EXPECT_EQ(told.at("sandboxes").as_array().at(0), json::Value(box));
  EXPECT_EQ(count_listed("sandbox=" + box), 6u) << "also when it has ended";
}

TEST_F(TracesTest, AreFoundByNameAndByRequest) {
  world_.create(R"({"name":"dev"})");
  EXPECT_EQ(count_listed("sandbox=dev"), 1u);
  const auto answer = world_.post("/v1/sandboxes", "{}");
  EXPECT_EQ(count_listed("request=" + answer.header("X-Request-Id")), 1u);
  EXPECT_EQ(count_listed("request=nobody"), 0u);
}

TEST_F(TracesTest, BelongToTheTenant) {
  const auto box = traced(Method::post, "/v1/sandboxes", "{}")["id"];
  const net::Headers other{{"Authorization", "Bearer " + world_.user_key()}};
  EXPECT_EQ(world_.bare(Method::get, "/v1/traces/" + std::string(kTrace), other).status, 404);
  EXPECT_EQ(world_.bare(Method::get, "/v1/traces?sandbox=" + box, other).body, R"({"traces":[]})");
  EXPECT_EQ(world_.bare(Method::get, "/v1/traces").status, 401);
}

TEST_F(TracesTest, AreSeenByThoseWhoSeeTheSandboxes) {
  const std::string path = "/v1/traces/" + std::string(kTrace);
  const auto with = [](const std::string& key) {
    return net::Headers{{"Authorization", "Bearer " + key}};
  };
  const auto agent = with(world_.make_key("default", Role::agent));
  const auto other_agent = with(world_.make_key("default", Role::agent));
  net::Headers sent = agent;
  sent.add("traceparent", kParent);
  ASSERT_EQ(world_.bare(Method::get, "/v1/sandboxes", sent).status, 200);

  EXPECT_EQ(world_.bare(Method::get, path, agent).status, 200);
  EXPECT_EQ(world_.bare(Method::get, path, other_agent).status, 404);
  EXPECT_EQ(world_.bare(Method::get, path, with(world_.make_key("default"))).status, 200);
  EXPECT_EQ(world_.bare(Method::get, path, with(world_.make_key("default", Role::viewer))).status,
            200);
  EXPECT_EQ(world_.bare(Method::get, path, with(world_.make_key("acme"))).status, 404);
  EXPECT_EQ(world_.bare(Method::get, path, with(world_.make_key("acme", Role::admin))).status, 200);
}

TEST_F(TracesTest, ATokenShowsWhatWasDoneWithIt) {
  const auto box = traced(Method::post, "/v1/sandboxes", "{}")["id"];
  const auto token = world_.post("/v1/sandboxes/" + box + "/token", "{}")["token"];
  const net::Headers holder{{"Authorization", "Bearer " + token}};
  EXPECT_EQ(world_.bare(Method::get, "/v1/traces/" + std::string(kTrace), holder).status, 404);
  EXPECT_EQ(world_.bare(Method::get, "/v1/traces?sandbox=" + box, holder).body, R"({"traces":[]})");

  net::Headers sent = holder;
  sent.add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
  ASSERT_EQ(world_.bare(Method::get, "/v1/sandboxes/" + box, sent).status, 200);
  EXPECT_EQ(world_.bare(Method::get, "/v1/traces/0af7651916cd43dd8448eb211c80319c", holder).status,
            200);
}

TEST_F(TracesTest, WhoeverHasNoKeyLeavesNone) {
  EXPECT_EQ(world_.bare(Method::post, "/v1/runs", {{"traceparent", kParent}}).status, 401);
  EXPECT_EQ(world_.get("/v1/traces/" + std::string(kTrace)).status, 404);
}

TEST_F(TracesTest, ReadingIsTracedWhenAsked) {
  const auto quiet = world_.get("/v1/sandboxes");
  EXPECT_TRUE(quiet.header("traceparent").ends_with("-00"));
  EXPECT_EQ(world_.get("/v1/traces/" + quiet.header("X-Trace-Id")).status, 404);
  EXPECT_TRUE(traced(Method::get, "/v1/sandboxes").header("traceparent").ends_with("-01"));
  EXPECT_THAT(names(trace()), Contains("GET /v1/sandboxes"));
}

TEST_F(TracesTest, CommandsGetTheContextOfCallersThatHaveOne) {
  const auto box = world_.create();
  const std::string path = "/v1/sandboxes/" + box + "/exec";
  EXPECT_THAT(world_.post(path, R"({"argv":["env"]})")["stdout"], Not(HasSubstr("TRACEPARENT")));

  const auto answer = traced(Method::post, path, R"({"argv":["env"]})");
  const std::string exec(span(trace(), "exec").at("span_id").as_string());
  EXPECT_THAT(answer["stdout"],
              HasSubstr("TRACEPARENT=00-" + std::string(kTrace) + "-" + exec + "-01"));

  const auto own = traced(Method::post, path, R"({"argv":["env"],"env":{"TRACEPARENT":"mine"}})");
  EXPECT_THAT(own["stdout"], HasSubstr("TRACEPARENT=mine"));
}

TEST_F(TracesTest, TellNothingThatIsSecret) {
  const auto box = traced(Method::post, "/v1/sandboxes", R"({"env":{"TOKEN":"canary"}})")["id"];
  const std::string path = "/v1/sandboxes/" + box;
  traced(Method::post, path + "/exec",
         R"({"argv":["cat","canary"],"env":{"A":"canary"},"stdin":"canary"})");
  traced(Method::put, path + "/files?path=canary", "canary");
  traced(Method::post, path + "/files/move", R"({"from":"canary","to":"canary2"})");
  traced(Method::post, "/v1/runs", R"({"exec":{"argv":["echo","canary"],"bad":"canary"}})");
  const auto told = world_.get("/v1/traces/" + std::string(kTrace)).body;
  EXPECT_THAT(told, HasSubstr("move_file"));
  EXPECT_THAT(told, Not(HasSubstr("canary")));
}

TEST_F(TracesTest, WhatIsNoTraceIdIsRefusedInWords) {
  const auto answer = world_.get("/v1/traces/sbx1");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer["hint"], HasSubstr("sandbox="));
  EXPECT_EQ(world_.get("/v1/traces?limit=0").status, 400);
  EXPECT_EQ(world_.get("/v1/traces?limit=101").status, 400);
}

TEST_F(TracesTest, OperationsAreCountedByDriverAndOutcome) {
  const auto box = world_.create();
  world_.post("/v1/sandboxes/" + box + "/pause");  // which the fake driver cannot
  world_.get("/v1/sandboxes/" + box + "/files?path=missing");
  world_.post("/v1/sandboxes/" + box + "/exec", R"({"argv":["echo","hi"]})");
  world_.post("/v1/sandboxes/" + box + "/stop");
  const std::string text = world_.get("/metrics").body;
  for (const char* line : {
           R"(atoll_operations_total{driver="fake",operation="pause",outcome="unsupported"} 1)",
           R"(atoll_operations_total{driver="fake",operation="stop",outcome="ok"} 1)",
           R"(atoll_operations_total{driver="fake",operation="read_file",outcome="not_found"} 1)",
           R"(atoll_operations_total{driver="fake",operation="exec_start",outcome="ok"} 1)",
           R"(atoll_operation_duration_seconds_count{driver="fake",operation="pause"} 1)",
           R"(atoll_exec_output_bytes_total{driver="fake"})",
           R"(atoll_queue_length{queue="turns"} 0)",
           R"(atoll_queue_length{queue="store"} 0)",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace atl
