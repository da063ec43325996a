#include "client/exec_stream.h"

#include <gmock/gmock.h>

#include "client/answer.h"
#include "client/scripted_server_internal.h"

namespace atl::client {
namespace {

using ::testing::ElementsAre;

std::string frame(int kind, std::string_view bytes) {
  std::string out{
      static_cast<char>(kind),        0, 0, 0, 0, 0, static_cast<char>(bytes.size() >> 8),
      static_cast<char>(bytes.size())};
  return out + std::string(bytes);
}

const std::string kStart = frame(0, R"({"sandbox":"box","process":3})");
const std::string kExit = frame(3, R"({"exit_code":0,"reason":"exited"})");

// "out:…" and the like, in order.
Task<> read_all(Connection& connection, std::vector<std::string>& told) {
  CO_TRY(const auto stream, co_await ExecStream::open(connection, {.target = "/v1/runs"}));
  for (;;) {
    CO_TRY(const auto event, co_await stream->next());
    if (!event) co_return Result<>();
    switch (event->kind) {
      case net::FrameKind::out:
        told.push_back("out:" + std::string(event->bytes));
        break;
      case net::FrameKind::err:
        told.push_back("err:" + std::string(event->bytes));
        break;
      case net::FrameKind::start:
        told.push_back("start:" + started_process(event->value).sandbox);
        break;
      case net::FrameKind::exit:
        told.push_back("exit:" + text_at(event->value, "reason"));
        break;
      default:
        told.push_back("other");
    }
  }
}

struct Story {
  std::vector<std::string> told;
  Result<> ended;
};

Story story_of(ScriptedAnswer answer) {
  ScriptedServer server({std::move(answer)});
  Story story;
  story.ended = server.run(read_all(*server.connection, story.told));
  return story;
}

TEST(ExecStream, TellsWhatHappensInOrderAndPassesOverWhatIsNew) {
  const auto story =
      story_of({.body = kStart + frame(1, "a") + frame(200, "{}") + frame(2, "b") + kExit});

  EXPECT_TRUE(story.ended);
  EXPECT_THAT(story.told, ElementsAre("start:box", "out:a", "err:b", "exit:exited"));
}

TEST(ExecStream, OneThatBreaksOffIsNoSuccess) {
  for (const ScriptedAnswer& answer : {
           ScriptedAnswer{.body = kStart + frame(1, "a"), .is_cut = true},
           ScriptedAnswer{.body = kStart + frame(1, "a")},
           ScriptedAnswer{.body = kStart + kExit.substr(0, 10)},
           ScriptedAnswer{.body = ""},
       }) {
    const auto story = story_of(answer);
    ASSERT_FALSE(story.ended);
    EXPECT_EQ(story.ended.error().code(), Code::unavailable);
  }
}

TEST(ExecStream, AnErrorOnTheWayIsTheError) {
  const auto story = story_of(
      {.body = kStart + frame(5, R"({"code":"out_of_space","detail":"the disk is full"})")});

  ASSERT_FALSE(story.ended);
  EXPECT_EQ(story.ended.error().code(), Code::out_of_space);
}

TEST(ExecStream, ARefusalIsTheError) {
  const auto story =
      story_of({.status = 404, .body = R"({"code":"not_found","detail":"no such sandbox"})"});

  ASSERT_FALSE(story.ended);
  EXPECT_EQ(story.ended.error().code(), Code::not_found);
}

}  // namespace
}  // namespace atl::client
