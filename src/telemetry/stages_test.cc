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
