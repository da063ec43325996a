// Commands: whole answers, streams, and what becomes of them when the client leaves.
#include "base/text.h"
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNdjson[] = "application/x-ndjson";
constexpr char kFrames[] = "application/vnd.atoll.stream";

Answer parsed(std::string line) { return {200, {}, std::move(line)}; }

class ExecTest : public ::testing::Test {
 protected:
  Answer exec(std::string body) { return world_.post(path_ + "/exec", std::move(body)); }
  std::unique_ptr<Streaming> stream(std::string body, std::string accept, std::string query = "") {
    return world_.stream(Method::post, path_ + "/exec" + query, std::move(body), std::move(accept));
  }
  void put(std::string name, std::string bytes) {
    const auto answer = world_.call(Method::put, path_ + "/files?path=" + name, std::move(bytes));
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  // Waits until the exec's handler has returned, having answered this.
  bool answered(std::string status) {
    const std::string line = R"(route="/v1/sandboxes/{id}/exec",status=")" + status + "\"} 1";
    return world_.wait_until(
        [&] { return world_.metrics.render().find(line) != std::string::npos; });
  }
  bool runs(const std::string& process) {
    const auto listed = world_.get(path_ + "/processes").json();
    for (const auto& one : listed.at("processes").as_array()) {
      if (std::to_string(one.at("process").to_number<int64_t>()) == process) {
        return one.at("running").as_bool();
      }
    }
    return false;
  }

  ApiWorld world_;
  std::string id_ = world_.create();
  std::string path_ = "/v1/sandboxes/" + id_;
};

TEST_F(ExecTest, TellsTheWholeResult) {
  const auto answer = exec(R"({"argv":["echo","hi","you"]})");

  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer["exit_code"], "0");
  EXPECT_EQ(answer["reason"], "exited");
  EXPECT_EQ(answer["stdout"], "hi you\n");
  EXPECT_EQ(answer["stderr"], "");
  EXPECT_EQ(answer["truncated"], "false");
  EXPECT_EQ(answer["duration_ms"], "0.001");
  EXPECT_EQ(answer["process"], "1");
  EXPECT_EQ(answer["pid"], "101");
  EXPECT_EQ(answer["request_id"], answer.header("X-Request-Id"));
  EXPECT_EQ(answer["attested"], "");
  EXPECT_EQ(answer.json().at("usage").at("stdout_bytes").to_number<int>(), 7);
  EXPECT_EQ(answer.json().at("usage").at("scope").as_string(), "waited");
}

TEST_F(ExecTest, AFailingCommandIsASuccessfulCall) {
  EXPECT_EQ(exec(R"({"argv":["exit","3"]})")["exit_code"], "3");
  EXPECT_EQ(exec(R"({"argv":["nonsense"]})")["exit_code"], "127");
  const auto late = exec(R"({"argv":["sleep"],"timeout_ms":5})");
  EXPECT_EQ(late["exit_code"], "124");
  EXPECT_EQ(late["reason"], "timeout");
}

TEST_F(ExecTest, ACommandLineGoesToTheShell) {
  exec(R"({"command":"echo $HOME"})");

  const auto argv = world_.get(path_ + "/processes").json().at("processes").at(0).at("argv");
  EXPECT_EQ(argv, json::Value({"/bin/sh", "-c", "echo $HOME"}));
}

TEST_F(ExecTest, EnvironmentAndStdinReachTheCommand) {
  EXPECT_EQ(exec(R"({"argv":["env"],"env":{"A":"1"}})")["stdout"], "A=1\n");
  EXPECT_EQ(exec(R"({"argv":["cat"],"stdin":"über"})")["stdout"], "über");
  EXPECT_EQ(exec(R"({"argv":["cat"],"stdin_b64":"AAE="})")["stdout"], std::string("\0\1", 2));
  EXPECT_EQ(exec(R"({"argv":["cat"],"stdin":""})")["stdout"], "");
}

TEST_F(ExecTest, OutputThatIsNotTextComesAsBase64) {
  put("bytes", "\xff\xfe");

  const auto answer = exec(R"({"argv":["cat","bytes","missing"]})");

  EXPECT_EQ(answer["stdout_b64"], "//4=");
  EXPECT_EQ(answer["stdout"], "");
  EXPECT_EQ(answer["stderr"], "cat: missing: no such file\n");
}

TEST_F(ExecTest, AsMuchOutputAsAskedIsKept) {
  const auto answer = exec(R"({"argv":["echo","aé"],"max_output_bytes":2})");

  EXPECT_EQ(answer["stdout"], "a") << "half a character is cut off, and the rest stays text";
  EXPECT_EQ(answer["truncated"], "true");
}

TEST_F(ExecTest, RefusesWhatMakesNoSense) {
  const auto refused = [&](std::string body, std::string field) {
    const auto answer = exec(body);
    EXPECT_EQ(answer.status, 400) << body << answer.body;
    EXPECT_THAT(answer["detail"], HasSubstr(field)) << body;
    EXPECT_EQ(answer["stage"], "request") << body;
  };

  refused("", "");
  refused("{}", "argv");
  refused(R"({"argv":[]})", "argv");
  refused(R"({"argv":[""]})", "argv");
  refused(R"({"argv":"true"})", "argv");
  refused(R"({"argv":["a\u0000b"]})", "argv");
  refused(R"({"argv":["true"],"command":"true"})", "command");
  refused(R"({"command":""})", "command");
  refused(R"({"argv":["true"],"timeout_ms":-5})", "timeout_ms");
  refused(R"({"argv":["true"],"timeout_ms":99999999999999})", "timeout_ms");
  refused(R"({"argv":["true"],"max_output_bytes":999999999999})", "max_output_bytes");
  refused(R"({"argv":["true"],"output_limit":-1})", "output_limit");
  refused(R"({"argv":["true"],"env":{"":"x"}})", "env");
  refused(R"({"argv":["true"],"stdin":"a","stdin_b64":"YQ=="})", "stdin");
  refused(R"({"argv":["true"],"stdin_b64":"?"})", "stdin_b64");
  refused(R"({"argv":["true"],"timeout_mss":5})", "did you mean timeout_ms");
  refused(R"({"argv":["true"],"cpu_time_ms":-1})", "cpu_time_ms");
  EXPECT_EQ(world_.post("/v1/sandboxes/none/exec", R"({"argv":["true"]})").status, 404);
  EXPECT_EQ(world_.post(path_ + "/exec?on_disconnect=explode", R"({"argv":["true"]})").status, 400);
}

TEST_F(ExecTest, LinesTellTheStoryAsItGoes) {
  const auto lines = stream(R"({"argv":["echo","hi"]})", kNdjson);

  const auto start = parsed(lines->line());
  const auto out = parsed(lines->line());
  const auto exit = parsed(lines->line());

  EXPECT_EQ(start["type"], "start");
  EXPECT_EQ(start["sandbox"], id_);
  EXPECT_EQ(start["process"], "1");
  EXPECT_EQ(start["pid"], "101");
  EXPECT_EQ(out["type"], "stdout");
  EXPECT_EQ(out["offset"], "0");
  EXPECT_EQ(out["data"], "hi\n");
  EXPECT_EQ(exit["type"], "exit");
  EXPECT_EQ(exit["exit_code"], "0");
  EXPECT_EQ(exit["stdout"], "");
  EXPECT_EQ(lines->line(), "");
}

TEST_F(ExecTest, ACharacterThatComesInPiecesStaysText) {
  const auto lines = stream(R"({"argv":["cat"],"stdin_open":true})", kNdjson);
  const auto process = parsed(lines->line())["process"];
  const std::string stdin_path = path_ + "/processes/" + process + "/stdin";

  world_.post(stdin_path + "?eof=false", "a\xe2\x82");
  EXPECT_EQ(parsed(lines->line())["data"], "a");
  world_.post(stdin_path + "?eof=false", "\xac!");
  const auto completed = parsed(lines->line());
  EXPECT_EQ(completed["data"], "€!");
  EXPECT_EQ(completed["offset"], "1");

  world_.post(stdin_path, "\xc3");
  const auto cut = parsed(lines->line());
  EXPECT_EQ(cut["data_b64"], "ww==") << "nothing follows, so it is not text after all";
  EXPECT_EQ(cut["offset"], "5");
  EXPECT_EQ(parsed(lines->line())["type"], "exit");
}

TEST_F(ExecTest, FramesCarryRawBytes) {
  put("bytes", std::string("\xff\0\n", 3));
  const auto frames = stream(R"({"argv":["cat","bytes","missing"]})", kFrames);

  int kind = 0;
  EXPECT_EQ(parsed(frames->frame(kind))["process"], "1");
  EXPECT_EQ(kind, 0);
  EXPECT_EQ(frames->frame(kind), std::string("\xff\0\n", 3));
  EXPECT_EQ(kind, 1);
  EXPECT_THAT(frames->frame(kind), HasSubstr("missing"));
  EXPECT_EQ(kind, 2);
  EXPECT_EQ(parsed(frames->frame(kind))["exit_code"], "1");
  EXPECT_EQ(kind, 3);
  EXPECT_EQ(frames->frame(kind), "");
  EXPECT_EQ(kind, -1);
}

TEST_F(ExecTest, ALargePieceGoesThroughFramesWhole) {
  const std::string large(3'000'000, 'x');
  put("large", large);
  const auto frames = stream(R"({"argv":["cat","large"]})", kFrames);

  int kind = 0;
  frames->frame(kind);
  EXPECT_EQ(frames->frame(kind), large);
  EXPECT_EQ(kind, 1);
}

TEST_F(ExecTest, AKeptCommandOutlivesItsClient) {
  const auto lines = stream(R"({"argv":["cat"],"stdin_open":true})", kNdjson);
  const auto process = parsed(lines->line())["process"];
  lines->leave();
  ASSERT_TRUE(answered("200"));

  EXPECT_TRUE(runs(process));
  const auto again = world_.stream(
      Method::get, path_ + "/processes/" + process + "/output?stdout_offset=0", "", kNdjson);
  EXPECT_EQ(parsed(again->line())["type"], "start");
  world_.post(path_ + "/processes/" + process + "/stdin", "still here");
  EXPECT_EQ(parsed(again->line())["data"], "still here");
  EXPECT_EQ(parsed(again->line())["type"], "exit");
}

TEST_F(ExecTest, AWholeAnswerIsNoLongerWaitedForWhenItsClientLeft) {
  auto call = world_.begin(Method::post, path_ + "/exec", R"({"argv":["sleep"]})");
  ASSERT_TRUE(
      world_.wait_until([&] { return world_.host().boxes.at(id_)->processes.size() == 1; }));

  call.reset();

  EXPECT_TRUE(answered("499"));
  EXPECT_TRUE(runs("1"));
}

TEST_F(ExecTest, ACommandDiesWithItsClientIfThatWasAsked) {
  const auto lines = stream(R"({"argv":["sleep"]})", kNdjson, "?on_disconnect=kill");
  const auto process = parsed(lines->line())["process"];
  ASSERT_TRUE(runs(process));

  lines->leave();

  EXPECT_TRUE(answered("200"));
  EXPECT_FALSE(runs(process));
}

TEST_F(ExecTest, ASandboxThatGoesAwayEndsTheStreamWithAnError) {
  const auto lines = stream(R"({"argv":["sleep"]})", kNdjson);
  EXPECT_EQ(parsed(lines->line())["type"], "start");

  world_.host().end(id_, EndedBy::death);

  const auto last = parsed(lines->line());
  EXPECT_EQ(last["type"], "error");
  EXPECT_THAT(last["problem"], HasSubstr("unavailable"));
}

TEST(Runs, TellTheResultAndWhereItRan) {
  ApiWorld world;

  const auto answer =
      world.post("/v1/runs", R"({"sandbox":{"env":{"A":"1"}},"exec":{"argv":["env"]}})");

  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer["stdout"], "A=1\n");
  EXPECT_EQ(answer["driver"], "fake");
  EXPECT_EQ(answer["isolation"], "container");
  EXPECT_THAT(answer["stages"], HasSubstr("exec"));
  EXPECT_TRUE(world.host().ids().empty());
}

TEST(Runs, Stream) {
  ApiWorld world;

  const auto lines =
      world.stream(Method::post, "/v1/runs", R"({"exec":{"argv":["cat"],"stdin":"hi"}})", kNdjson);

  EXPECT_THAT(parsed(lines->line())["sandbox"], HasSubstr("sbx"));
  EXPECT_EQ(parsed(lines->line())["data"], "hi");
  const auto exit = parsed(lines->line());
  EXPECT_EQ(exit["type"], "exit");
  EXPECT_EQ(exit["driver"], "fake");
}

TEST(Runs, EndWithTheirClient) {
  ApiWorld world;
  const auto lines =
      world.stream(Method::post, "/v1/runs", R"({"exec":{"argv":["sleep"]}})", kNdjson);
  lines->line();
  ASSERT_EQ(world.host().ids().size(), 1U);

  lines->leave();

  EXPECT_TRUE(world.wait_until([&] { return world.host().ids().empty(); }));
}

TEST(Runs, NameThePartThatIsWrong) {
  ApiWorld world;

  EXPECT_THAT(world.post("/v1/runs", R"({"exec":{"argv":[]}})")["detail"], HasSubstr("exec: argv"));
  EXPECT_THAT(
      world.post("/v1/runs", R"({"exec":{"argv":["true"]},"sandbox":{"dirver":"x"}})")["detail"],
      HasSubstr("sandbox.dirver"));
  EXPECT_THAT(world.post("/v1/runs", R"({"sandbox":{}})")["detail"], HasSubstr("exec"));
  EXPECT_EQ(world.post("/v1/runs", R"({"exec":{"argv":["cat"],"stdin_open":true}})").status, 400);
  EXPECT_EQ(world.post("/v1/runs", R"({"sandbox":{"ttl_s":-1},"exec":{"argv":["true"]}})").status,
            400);
  EXPECT_TRUE(world.host().ids().empty());
}

}  // namespace
}  // namespace atl
