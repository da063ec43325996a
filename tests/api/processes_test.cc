// Processes: the list, coming back to one, stdin, signals and logs.
#include "tests/api/api_world.h"

namespace atl {
namespace {

using net::Method;
using ::testing::HasSubstr;

class ProcessesTest : public ::testing::Test {
 protected:
  // Starts a command that goes on by itself; its process.
  std::string start(std::string argv) {
    const auto lines =
        world_.stream(Method::post, path_ + "/exec", R"({"stdin_open":true,"argv":)" + argv + "}",
                      "application/x-ndjson");
    return Answer{200, {}, lines->line()}["process"];
  }

  ApiWorld world_;
  std::string id_ = world_.create();
  std::string path_ = "/v1/sandboxes/" + id_;
};

TEST_F(ProcessesTest, AreListedWithTheirEnd) {
  world_.post(path_ + "/exec", R"({"argv":["exit","3"]})");
  start(R"(["sleep"])");

  const auto listed = world_.get(path_ + "/processes").json().at("processes").as_array();

  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].at("running").as_bool(), false);
  EXPECT_EQ(listed[0].at("exit").at("exit_code").to_number<int>(), 3);
  EXPECT_EQ(listed[0].at("argv").at(0).as_string(), "exit");
  EXPECT_EQ(listed[1].at("running").as_bool(), true);
  EXPECT_FALSE(listed[1].as_object().contains("exit"));
}

TEST_F(ProcessesTest, OutputIsReadAgainFromAnOffset) {
  world_.post(path_ + "/exec", R"({"argv":["echo","0123456789"]})");

  EXPECT_EQ(world_.get(path_ + "/processes/1/output")["stdout"], "0123456789\n");
  EXPECT_EQ(world_.get(path_ + "/processes/1/output?stdout_offset=8")["stdout"], "89\n");
  EXPECT_EQ(world_.get(path_ + "/processes/7/output").status, 404);
  EXPECT_EQ(world_.get(path_ + "/processes/x/output").status, 400);
  EXPECT_EQ(world_.get(path_ + "/processes/1/output?stdout_offset=-1").status, 400);
  EXPECT_EQ(world_.call(Method::head, path_ + "/processes/1/output").status, 405);
}

TEST_F(ProcessesTest, StdinIsWrittenInParts) {
  const auto process = start(R"(["cat"])");
  const std::string stdin_path = path_ + "/processes/" + process + "/stdin";

  EXPECT_EQ(world_.post(stdin_path + "?eof=false", "one ").status, 204);
  EXPECT_EQ(world_.post(stdin_path, "two").status, 204);

  EXPECT_EQ(world_.get(path_ + "/processes/" + process + "/output")["stdout"], "one two");
  EXPECT_EQ(world_.post(stdin_path, "late").status, 409);
  EXPECT_EQ(world_.post(path_ + "/processes/99/stdin", "x").status, 404);
}

TEST_F(ProcessesTest, SignalsAreNamedOrNumbered) {
  const auto first = start(R"(["sleep"])");
  const auto second = start(R"(["sleep"])");
  const auto path_of = [&](const std::string& process) {
    return path_ + "/processes/" + process + "/signal";
  };

  EXPECT_EQ(world_.post(path_of(first), R"({"signal":"SIGTERM"})").status, 204);
  EXPECT_EQ(world_.post(path_of(second), R"({"signal":9})").status, 204);

  EXPECT_EQ(world_.get(path_ + "/processes/" + first + "/output")["signal"], "15");
  EXPECT_EQ(world_.get(path_ + "/processes/" + second + "/output")["signal"], "9");
  for (const std::string bad : {"0", "65", "-1", "1.5", R"("SIGNOPE")", "null", "[]", "true"}) {
    EXPECT_EQ(world_.post(path_of(first), R"({"signal":)" + bad + "}").status, 400) << bad;
  }
  EXPECT_EQ(world_.post(path_of("99"), R"({"signal":9})").status, 404);
}

TEST_F(ProcessesTest, LogsAreTheLastProcessesText) {
  EXPECT_EQ(world_.get(path_ + "/logs").status, 404);
  world_.post(path_ + "/exec", R"({"argv":["echo","first"]})");
  world_.call(Method::put, path_ + "/files?path=lines", "1\n2\n3\n4\n");
  world_.post(path_ + "/exec", R"({"argv":["cat","lines","missing"]})");

  const auto all = world_.get(path_ + "/logs");
  EXPECT_THAT(all.header("Content-Type"), HasSubstr("text/plain"));
  EXPECT_EQ(all.header("X-Atoll-Process"), "2");
  EXPECT_EQ(all.body, "1\n2\n3\n4\ncat: missing: no such file\n");
  EXPECT_EQ(world_.get(path_ + "/logs?process=1").body, "first\n");
  EXPECT_EQ(world_.get(path_ + "/logs?stream=stdout&tail=2").body, "3\n4\n");
  EXPECT_EQ(world_.get(path_ + "/logs?stream=stderr").body, "cat: missing: no such file\n");
  EXPECT_EQ(world_.get(path_ + "/logs?tail=0").body, "");
  EXPECT_EQ(world_.get(path_ + "/logs?stream=stdout&tail=99").body, "1\n2\n3\n4\n");
  EXPECT_EQ(world_.get(path_ + "/logs?process=9").status, 404);
  EXPECT_EQ(world_.get(path_ + "/logs?stream=both").status, 400);
}

TEST_F(ProcessesTest, LogsFollowWhileTheProcessRuns) {
  const auto process = start(R"(["cat"])");
  const auto log =
      world_.stream(Method::get, path_ + "/logs?follow=true&process=" + process, "", "");

  world_.post(path_ + "/processes/" + process + "/stdin?eof=false", "one\n");
  EXPECT_EQ(log->line(), "one");
  world_.post(path_ + "/processes/" + process + "/stdin", "two\n");
  EXPECT_EQ(log->rest(), "two\n");
}

}  // namespace
}  // namespace atl
