#include "core/event_log.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "core/sandbox_record.h"

namespace atl {
namespace {

struct World {
  asio::io_context loop;
  EventLog log{loop.get_executor(), system_clock()};
  SandboxRecord record{loop.get_executor()};

  void move(State to) {
    const State from = std::exchange(record.state, to);
    log.add(record, from);
  }
};

TEST(EventLog, TellsWhatCameAfterAPoint) {
  World world;
  world.record.id = "sbx1";
  world.move(State::starting);
  world.move(State::running);

  EXPECT_EQ(world.log.after(0, 10).events.size(), 2);
  const auto page = world.log.after(1, 10);
  ASSERT_EQ(page.events.size(), 1);
  EXPECT_EQ(page.events[0]->number, 2);
  EXPECT_EQ(page.events[0]->from, State::starting);
  EXPECT_EQ(page.events[0]->to, State::running);
  EXPECT_EQ(page.events[0]->sandbox, "sbx1");
  EXPECT_EQ(page.lost, 0);
  EXPECT_TRUE(world.log.after(2, 10).events.empty());
  EXPECT_TRUE(world.log.after(UINT64_MAX, 10).events.empty());
}

TEST(EventLog, GivesPagesOfTheSizeAskedFor) {
  World world;
  for (int i = 0; i < 5; ++i) world.move(State::running);

  EXPECT_EQ(world.log.after(0, 3).events.back()->number, 3);
  EXPECT_EQ(world.log.after(3, 3).events.back()->number, 5);
}

TEST(EventLog, SaysHowManyAreNoLongerKept) {
  World world;
  for (size_t i = 0; i < EventLog::kMostEvents + 7; ++i) world.move(State::running);

  const auto page = world.log.after(2, 1);
  EXPECT_EQ(page.lost, 5);
  EXPECT_EQ(page.events[0]->number, 8);
  EXPECT_EQ(world.log.after(7, 1).lost, 0);
}

TEST(EventLog, TellsWhyOnlyWhereItEnded) {
  World world;
  world.record.failure = "expired";
  world.move(State::running);
  world.move(State::destroyed);

  const auto page = world.log.after(0, 10);
  EXPECT_EQ(page.events[0]->reason, "");
  EXPECT_EQ(page.events[1]->reason, "expired");
}

TEST(EventLog, WakesWhoeverWaits) {
  World world;
  int woken = 0;
  for (int i = 0; i < 2; ++i) {
    spawn(world.loop.get_executor(), world.log.wait_beyond(0, Millis(60'000)),
          [&](Result<> result) { woken += result ? 1 : 0; });
  }
  world.loop.poll();
  EXPECT_EQ(woken, 0);
  world.move(State::running);
  world.loop.run();
  EXPECT_EQ(woken, 2);
}

TEST(EventLog, DoesNotLetAnybodyWaitForEver) {
  World world;
  Result<> ended;
  spawn(world.loop.get_executor(), world.log.wait_beyond(0, Millis(5)),
        [&](Result<> result) { ended = std::move(result); });
  world.loop.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::deadline_exceeded);
}

}  // namespace
}  // namespace atl
