#include "core/pace.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Pace, TellsWhenToComeAgainFromWhatItSaw) {
  Pace pace;
  EXPECT_EQ(pace.until(std::chrono::seconds(9), 5), std::chrono::seconds(1)) << "nothing is known";
  for (int i = 1; i <= 10; ++i) pace.note(std::chrono::seconds(2 * i));

  EXPECT_EQ(pace.until(std::chrono::seconds(20), 1), std::chrono::seconds(2));
  EXPECT_EQ(pace.until(std::chrono::seconds(20), 5), std::chrono::seconds(10));
  EXPECT_EQ(pace.until(std::chrono::seconds(60), 1), std::chrono::seconds(40))
      << "it has become slow";
  EXPECT_EQ(pace.until(std::chrono::seconds(20), 1'000), Pace::kLongest);
}

}  // namespace
}  // namespace atl
