#include "agent/brake.h"

#include <gtest/gtest.h>

namespace atl::agent {
namespace {

// A command that is looked at every 50 milliseconds.
class Watched {
 public:
  bool look(bool is_full, uint64_t user_ms, uint64_t system_ms, uint64_t kills = 0) {
    sight_.at += Millis(50);
    sight_.is_full = is_full;
    sight_.cpu_user_us += user_ms * 1000;
    sight_.cpu_system_us += system_ms * 1000;
    sight_.kills += kills;
    return brake_.look(sight_);
  }
  bool wait(Micros span, bool is_full) {
    sight_.at += span - Millis(50);
    return look(is_full, 0, 0);
  }
  // Forks until the brake is on; says after how many looks.
  int bomb() {
    for (int looks = 1; looks < 100; ++looks) {
      if (look(true, 1, 60)) return looks;
    }
    return 100;
  }
  const Brake& brake() const { return brake_; }

 private:
  Brake brake_;
  Brake::Sight sight_{.at = Millis(1000)};
};

TEST(Brake, IsPutOnForABombOfProcesses) {
  Watched command;

  EXPECT_EQ(command.bomb(), Brake::kFullLooks + 1);
  EXPECT_TRUE(command.brake().is_on());
}

TEST(Brake, IsOffForManyProcessesThatWork) {
  Watched command;

  for (int i = 0; i < 100; ++i) EXPECT_FALSE(command.look(true, 90, 10));
}

TEST(Brake, IsOffForManyProcessesThatSleep) {
  Watched command;

  for (int i = 0; i < 100; ++i) EXPECT_FALSE(command.look(true, 0, 1));
}

TEST(Brake, IsOffForWorkInTheKernelBelowTheLimit) {
  Watched command;

  for (int i = 0; i < 100; ++i) EXPECT_FALSE(command.look(false, 5, 95));
}

TEST(Brake, IsLetGoWhenThereAreFewerProcesses) {
  Watched command;
  command.bomb();

  EXPECT_TRUE(command.look(true, 0, 0));
  EXPECT_FALSE(command.look(false, 0, 0));
}

TEST(Brake, IsPutOnForRepeatedKills) {
  Watched command;
  command.look(false, 0, 0);

  EXPECT_FALSE(command.look(false, 10, 40, 1));
  EXPECT_TRUE(command.brake().is_busy());
  EXPECT_FALSE(command.look(false, 10, 40, 1));
  EXPECT_TRUE(command.look(false, 10, 40, 1));
}

TEST(Brake, IsOffForKillsNowAndThen) {
  Watched command;

  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(command.look(false, 0, 0, 1));
    EXPECT_FALSE(command.wait(Brake::kKillSpan, false));
  }
}

TEST(Brake, IsOffForWhatCouldNotBeRead) {
  Brake brake;
  const Brake::Sight seen{
      .at = Millis(1000), .cpu_user_us = 9'000'000, .cpu_system_us = 9'000'000, .kills = 7};
  brake.look(seen);

  for (int i = 1; i < 20; ++i) {
    Brake::Sight sight = i % 2 == 0 ? seen : Brake::Sight{};
    sight.at = Millis(1000 + 50 * i);
    sight.is_full = true;
    EXPECT_FALSE(brake.look(sight)) << i;
  }
}

TEST(Brake, LastsLongerEachTime) {
  Watched command;
  command.bomb();

  EXPECT_TRUE(command.wait(Brake::kFirst - Millis(1), true));
  EXPECT_FALSE(command.wait(Millis(1), true));
  command.bomb();
  EXPECT_TRUE(command.wait(Brake::kFirst * 2 - Millis(1), true));
  EXPECT_FALSE(command.wait(Millis(1), true));
  for (int i = 0; i < 10; ++i) {
    command.bomb();
    EXPECT_FALSE(command.wait(Brake::kLongest, true));
  }
}

TEST(Brake, ForgivesAfterAWhile) {
  Watched command;
  command.bomb();
  command.wait(Brake::kFirst, true);

  EXPECT_FALSE(command.wait(Brake::kForgiven, false));
  command.bomb();

  EXPECT_FALSE(command.wait(Brake::kFirst, true));
}

}  // namespace
}  // namespace atl::agent
