#include "telemetry/stages.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "json/encode.h"

namespace atl::telemetry {
namespace {

TEST(StageTimer, GivesTheTimeBetweenMarksToEachStage) {
  FakeClock clock;
  StageTimer timer(clock);

  clock.advance(Micros(250));
  timer.mark("route");
  clock.advance(Micros(1'500));
  timer.mark("create");

  EXPECT_EQ(json::encode(timer.stages()),
            R"([{"name":"route","ms":0.25},{"name":"create","ms":1.5}])");
  EXPECT_DOUBLE_EQ(timer.total_ms(), 1.75);
}

TEST(StageTimer, AddsUpAStageThatComesBack) {
  FakeClock clock;
  StageTimer timer(clock);

  clock.advance(Micros(1'000));
  timer.mark("create");
  timer.add("agent", Micros(300));
  clock.advance(Micros(2'000));
  timer.mark("create");

  EXPECT_EQ(json::encode(timer.stages()),
            R"([{"name":"create","ms":3},{"name":"agent","ms":0.3}])");
}

TEST(StageTimer, ASumHasNoMoreThanThreeDecimals) {
  FakeClock clock;
  StageTimer timer(clock);

  // 0.1 + 0.2 is 0.30000000000000004 in binary fractions.
  timer.add("create", Micros(100));
  timer.add("create", Micros(200));

  EXPECT_EQ(json::encode(timer.stages()), R"([{"name":"create","ms":0.3}])");
}

TEST(StageTimer, SkipsTimeThatBelongsToNoStage) {
  FakeClock clock;
  StageTimer timer(clock);

  clock.advance(Micros(5'000));
  timer.skip();
  clock.advance(Micros(100));
  timer.mark("exec");

  EXPECT_EQ(json::encode(timer.stages()), R"([{"name":"exec","ms":0.1}])");
  EXPECT_DOUBLE_EQ(timer.total_ms(), 5.1);
}

TEST(StageTimer, NotesOfTheLastOfAName) {
  FakeClock clock;
  StageTimer timer(clock);
  timer.tell("create", "first: it broke");
  timer.mark("create");
  timer.mark("boot");
  timer.note("create", "made");
  timer.note("create", "once more");
  timer.note("nothing", "of that name");
  timer.note("boot", "");

  ASSERT_EQ(timer.stages().size(), 3u);
  EXPECT_EQ(timer.stages()[0].log, "first: it broke");
  EXPECT_EQ(timer.stages()[1].log, "made");
  EXPECT_EQ(timer.stages()[2].log, std::nullopt);
}

TEST(StageTimer, CutsANoteBetweenLetters) {
  FakeClock clock;
  StageTimer timer(clock);
  timer.mark("image");
  std::string name;
  for (int i = 0; i < 150; ++i) name += "ä";
  timer.note("image", name);

  const std::string log = timer.stages()[0].log.value();
  EXPECT_LE(log.size(), kMostNoted);
  EXPECT_EQ(log, name.substr(0, log.size() - 3) + "…");
  EXPECT_EQ(log.size() % 2, 1u);
}

TEST(StageTimer, IsAPlainValue) {
  FakeClock clock;
  StageTimer timer(clock);
  timer.mark("a");

  StageTimer copy = timer;
  copy.mark("b");

  EXPECT_EQ(timer.stages().size(), 1u);
  EXPECT_EQ(copy.stages().size(), 2u);
}

}  // namespace
}  // namespace atl::telemetry
