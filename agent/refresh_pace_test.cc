#include "agent/refresh_pace.h"

#include <gtest/gtest.h>

namespace atl::agent {
namespace {

// Somebody has a file of this pace in use; time passes in steps, as deadlines and readers ask.
struct World {
  Micros now = std::chrono::seconds(1000);
  Micros cost = Micros(100);
  RefreshPace pace;
  bool armed = false;
  int writings = 0;
  int turns = 0;
  Micros written{0};

  World() { turn(); }

  void turn() {
    ++turns;
    if (pace.should_write(now)) {
      ++writings;
      written = now;
      pace.was_written(now, cost);
    } else if (pace.should_arm(now)) {
      armed = true;
      pace.was_armed();
    }
  }
  // Gives how old the text is that the reader sees.
  Micros read() {
    const Micros age = now - written;
    if (armed) {
      armed = false;
      pace.was_read(now);
      turn();
    }
    return age;
  }
  void pass(Micros time) {
    const Micros end = now + time;
    for (Micros next = pace.next(); next.count() > 0 && next <= end; next = pace.next()) {
      now = std::max(now, next);
      turn();
    }
    now = end;
  }
};

TEST(RefreshPace, WritesAtOnceAndThenRestsForEver) {
  World world;
  world.pass(std::chrono::hours(1));

  EXPECT_EQ(world.writings, 1);
  EXPECT_TRUE(world.armed);
  EXPECT_EQ(world.pace.next(), Micros(0));
}

TEST(RefreshPace, AFirstCommandThatIsOverSoonIsNotFollowedAtOnce) {
  World world;
  world.pass(std::chrono::seconds(10));
  world.pace.first_command_began(world.now);
  world.pass(RefreshPace::kFirstDelay / 2);
  world.pace.nothing_runs(world.now);

  world.pass(RefreshPace::kLastDelay - Millis(1));
  EXPECT_EQ(world.writings, 1);
  world.pass(Millis(1));
  EXPECT_EQ(world.writings, 2);
}

TEST(RefreshPace, CommandsThatComeAndGoDoNotHoldItUp) {
  World world;
  world.pass(std::chrono::seconds(10));
  world.pace.first_command_began(world.now);
  for (int i = 0; i < 100; ++i) {
    world.pass(Millis(5));
    world.pace.nothing_runs(world.now);
    world.pace.command_began(world.now);
  }

  EXPECT_GE(world.writings, 3);
}

TEST(RefreshPace, AReaderCausesAWritingForTheNext) {
  World world;
  world.pass(std::chrono::seconds(60));

  EXPECT_EQ(world.read(), std::chrono::seconds(60));
  world.pass(Millis(1));
  EXPECT_LE(world.read(), Millis(1));
}

TEST(RefreshPace, AReaderThatComesBackSeesASecondAtMost) {
  World world;
  world.pass(std::chrono::seconds(60));
  world.read();
  for (int i = 0; i < 100; ++i) {
    world.pass(Millis(3000));  // as top does
    EXPECT_LE(world.read(), Millis(1000));
  }
}

TEST(RefreshPace, RestsWhenTheReaderHasGone) {
  World world;
  world.pass(std::chrono::seconds(60));
  world.read();
  world.pass(std::chrono::hours(1));

  EXPECT_LE(world.writings, 1 + 1 + 5);
  EXPECT_EQ(world.pace.next(), Micros(0));
  EXPECT_TRUE(world.armed);
}

TEST(RefreshPace, AHostileReaderGetsTwentyWritingsASecond) {
  World world;
  world.pass(std::chrono::seconds(60));
  const int before = world.writings;
  world.turns = 0;
  for (int i = 0; i < 100'000; ++i) {
    world.read();
    world.pass(Micros(100));
  }

  EXPECT_LE(world.writings - before, 10 * 20 + 1);
  EXPECT_LE(world.turns, 2 * (10 * 20 + 1));
}

TEST(RefreshPace, ADearWritingIsDoneLessOften) {
  World world;
  world.cost = Millis(20);
  world.pass(std::chrono::seconds(60));
  world.read();
  const int before = world.writings;
  for (int i = 0; i < 10'000; ++i) {
    world.read();
    world.pass(Millis(1));
  }

  EXPECT_LE(world.writings - before, 10'000 / 400 + 1);
}

TEST(RefreshPace, ACommandCausesAWritingUnlessTheTextIsFresh) {
  World world;
  world.pass(std::chrono::seconds(60));
  world.pace.command_began(world.now);
  world.turn();
  EXPECT_EQ(world.writings, 2);

  world.pass(Millis(99));
  world.pace.command_began(world.now);
  world.turn();
  EXPECT_EQ(world.writings, 2);

  world.pass(Millis(1));
  world.pace.command_began(world.now);
  world.turn();
  EXPECT_EQ(world.writings, 3);
}

TEST(RefreshPace, TheFirstCommandIsNotHeldUp) {
  World world;
  world.pass(std::chrono::hours(1));
  world.pace.first_command_began(world.now);
  world.turn();
  EXPECT_EQ(world.writings, 1);

  world.pass(RefreshPace::kFirstDelay);
  EXPECT_EQ(world.writings, 2);
  world.pass(std::chrono::hours(1));
  EXPECT_EQ(world.writings, 2);
  EXPECT_TRUE(world.armed);
}

}  // namespace
}  // namespace atl::agent
