#include "agent/proc_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace atl::agent {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMib = 1 << 20;

std::map<std::string, uint64_t> kilobytes_in(const std::string& text) {
  std::map<std::string, uint64_t> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    words >> name >> value;
    found[name] = value;
  }
  return found;
}

std::vector<std::vector<std::string>> words_in(const std::string& text) {
  std::vector<std::vector<std::string>> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    auto& row = found.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
  }
  return found;
}

ProcessorUse two_processors() {
  ProcessorUse use;
  use.processors = 2;
  use.up = std::chrono::seconds(10);
  use.user = Millis(3010);
  use.system = Millis(1000);
  use.idle = Millis(15990);
  use.booted_at_s = 1'700'000'000;
  return use;
}

TEST(Meminfo, ShowsTheLimitAndWhatIsLeftOfIt) {
  const auto told = kilobytes_in(meminfo_text({.total = 256 * kMib, .used = 56 * kMib}));

  EXPECT_EQ(told.at("MemTotal:"), 256u * 1024);
  EXPECT_EQ(told.at("MemFree:"), 200u * 1024);
  EXPECT_EQ(told.at("MemAvailable:"), 200u * 1024);
  EXPECT_EQ(told.at("SwapTotal:"), 0u);
  EXPECT_EQ(told.at("SwapFree:"), 0u);
}

TEST(Meminfo, CachesOfFilesAreAvailableAndTmpfsIsNot) {
  const auto told = kilobytes_in(meminfo_text({.total = 256 * kMib,
                                               .used = 100 * kMib,
                                               .active_file = 10 * kMib,
                                               .inactive_file = 20 * kMib,
                                               .cached = 70 * kMib,
                                               .shared = 40 * kMib}));

  EXPECT_EQ(told.at("Cached:"), 70u * 1024);
  EXPECT_EQ(told.at("Shmem:"), 40u * 1024);
  EXPECT_EQ(told.at("MemAvailable:"), (156u + 30) * 1024);
}

TEST(Meminfo, NeverHasMoreThanItsTotal) {
  const auto told = kilobytes_in(meminfo_text(
      {.total = 64 * kMib, .used = 65 * kMib, .inactive_file = 80 * kMib, .cached = 80 * kMib}));

  EXPECT_EQ(told.at("MemFree:"), 0u);
  EXPECT_EQ(told.at("MemAvailable:"), 64u * 1024);
  EXPECT_EQ(told.at("Cached:"), 64u * 1024);
}

TEST(Meminfo, KeepsItsLengthWhenTheNumbersChange) {
  EXPECT_EQ(meminfo_text({.total = 4096 * kMib}).size(),
            meminfo_text({.total = 4096 * kMib, .used = 4000 * kMib, .cached = 3 * kMib}).size());
}

TEST(Stat, TheProcessorsMakeUpTheSum) {
  const auto rows = words_in(stat_text(two_processors()));

  ASSERT_EQ(rows[0][0], "cpu");
  ASSERT_EQ(rows[1][0], "cpu0");
  ASSERT_EQ(rows[2][0], "cpu1");
  EXPECT_EQ(rows[3][0], "intr");
  EXPECT_EQ(rows[0][1], "301");
  EXPECT_EQ(rows[0][3], "100");
  EXPECT_EQ(rows[0][4], "1599");
  for (size_t column = 1; column < 11; ++column) {
    ASSERT_EQ(rows[0].size(), 11u);
    EXPECT_EQ(std::stoll(rows[0][column]),
              std::stoll(rows[1][column]) + std::stoll(rows[2][column]));
  }
}

TEST(Stat, NoProcessorGoesBackWhileTheSumGrows) {
  auto use = two_processors();
  use.processors = 3;
  int64_t before[3] = {0, 0, 0};
  for (int tick = 0; tick < 20; ++tick) {
    use.user += Millis(10);
    const auto rows = words_in(stat_text(use));
    for (size_t i = 0; i < 3; ++i) {
      const int64_t user = std::stoll(rows[i + 1][1]);
      EXPECT_GE(user, before[i]);
      before[i] = user;
    }
  }
}

TEST(ProcText, KeepsItsLengthWhileTimePasses) {
  auto later = two_processors();
  later.up += std::chrono::hours(30);
  later.idle += std::chrono::hours(50);
  later.user += std::chrono::hours(10);
  later.tasks = 1000;
  later.last_pid = 30'000;
  later.switches = 1'000'000;
  LoadAverage idle, busy;
  busy.add(std::chrono::hours(1), 16);

  EXPECT_EQ(stat_text(later).size(), stat_text(two_processors()).size());
  EXPECT_EQ(loadavg_text(busy, later).size(), loadavg_text(idle, two_processors()).size());
}

TEST(Stat, TellsWhenTheSandboxWasBorn) {
  EXPECT_THAT(stat_text(two_processors()), HasSubstr("\nbtime 1700000000\n"));
}

TEST(Loadavg, NearsTheNumberOfBusyProcessors) {
  LoadAverage load;
  for (int i = 0; i < 600; ++i) load.add(std::chrono::seconds(1), 2);

  EXPECT_NEAR(load.one(), 2, 0.001);
  EXPECT_GT(load.five(), 1.7);
  EXPECT_LT(load.fifteen(), 1.0);
}

TEST(Loadavg, DoesNotDependOnHowOftenItIsSampled) {
  LoadAverage often, seldom;
  for (int i = 0; i < 1000; ++i) often.add(Millis(90), 1.5);
  seldom.add(std::chrono::seconds(90), 1.5);

  EXPECT_NEAR(often.one(), seldom.one(), 1e-9);
  EXPECT_NEAR(often.fifteen(), seldom.fifteen(), 1e-9);
}

TEST(Loadavg, LooksLikeTheKernels) {
  LoadAverage load;
  load.add(std::chrono::hours(24), 1);
  auto use = two_processors();
  use.running = 2;
  use.tasks = 17;
  use.last_pid = 4321;

  EXPECT_THAT(loadavg_text(load, use), testing::MatchesRegex("1.00 1.00 1.00 2/17 4321 *\n"));
}

TEST(SplitTime, DividesTheSumByTheRatio) {
  SplitTime time;
  time.update(1000, 3, 1);

  EXPECT_EQ(time.user(), Micros(750));
  EXPECT_EQ(time.system(), Micros(250));
}

TEST(SplitTime, WithoutARatioAllIsTheUsers) {
  SplitTime time;
  time.update(1000, 0, 0);

  EXPECT_EQ(time.user(), Micros(1000));
  EXPECT_EQ(time.system(), Micros(0));
}

TEST(SplitTime, NeitherPartFallsWhenTheRatioTurns) {
  SplitTime time;
  time.update(1000, 1, 0);
  time.update(1200, 0, 1);
  EXPECT_EQ(time.user(), Micros(1000));
  EXPECT_EQ(time.system(), Micros(200));

  time.update(1100, 1, 0);  // nor the sum
  EXPECT_EQ(time.user() + time.system(), Micros(1200));
}

}  // namespace
}  // namespace atl::agent
