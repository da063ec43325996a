#include "client/event_stream.h"

#include <gmock/gmock.h>

#include "client/answer.h"
#include "client/scripted_server_internal.h"

namespace atl::client {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

const ScriptedAnswer kNow{.body = R"({"events":[],"last":"e-4"})"};

std::string event(int number) {
  return R"({"id":"e-)" + std::to_string(number) + "\",\"type\":\"sandbox.running\"}\n";
}

class EventStreamTest : public ::testing::Test {
 protected:
  // Up to the event `last`.
  Result<> follow(ScriptedServer& server, EventQuery query, std::string last) {
    return server.run(
        follow_events(*server.connection, std::move(query), [this, last](const json::Value& told) {
          seen_.push_back(text_at(told, "id"));
          return Result<Follow>(seen_.back() == last ? Follow::end : Follow::on);
        }));
  }

  std::vector<std::string> seen_;
};

TEST_F(EventStreamTest, GoesOnBehindTheLastEventWhenTheConnectionBreaks) {
  ScriptedServer server({kNow,
                         {.body = event(5) + "\n" + event(6), .is_cut = true},
                         {.body = "", .is_cut = true},
                         {.body = event(7) + event(8)},
                         {.body = event(9)}});

  EXPECT_TRUE(follow(server, {.filter = "runs=true"}, "e-9"));

  EXPECT_THAT(seen_, ElementsAre("e-5", "e-6", "e-7", "e-8", "e-9"));
  EXPECT_THAT(server.asked,
              ElementsAre("/v1/events?limit=1&sandbox=.", "/v1/events?runs=true&after=e-4",
                          "/v1/events?runs=true&after=e-6", "/v1/events?runs=true&after=e-6",
                          "/v1/events?runs=true&after=e-8"));
}

TEST_F(EventStreamTest, BeginsWhereItIsTold) {
  ScriptedServer server({kNow, {.body = event(3)}});

  EXPECT_TRUE(follow(server, {.filter = "runs=false", .after = "e-2"}, "e-3"));

  EXPECT_EQ(server.asked.back(), "/v1/events?runs=false&after=e-2");
}

TEST_F(EventStreamTest, ADaemonThatStaysAwayIsTold) {
  ScriptedServer server({kNow, {.body = event(5), .is_cut = true}, {.is_cut = true}});

  const auto followed = follow(server, {.filter = "runs=true", .away = milliseconds(40)}, "e-9");

  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code(), Code::unavailable);
  EXPECT_THAT(seen_, ElementsAre("e-5"));
}

TEST_F(EventStreamTest, WhatIsRefusedIsNotAskedAgain) {
  ScriptedServer server(
      {kNow, {.status = 403, .body = R"({"code":"permission_denied","detail":"no"})"}});

  const auto followed = follow(server, {.filter = "runs=true"}, "e-9");

  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code(), Code::permission_denied);
}

TEST_F(EventStreamTest, AnErrorOfTheListenerEndsIt) {
  ScriptedServer server({kNow, {.body = event(5) + event(6)}});

  const auto followed =
      server.run(follow_events(*server.connection, {.filter = "runs=true"}, [](const json::Value&) {
        return Result<Follow>(Error(Code::out_of_space, "full"));
      }));

  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code(), Code::out_of_space);
}

}  // namespace
}  // namespace atl::client
