#include "base/time_words.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TimeWords, TakeTheLargestUnitThatTellsItExactly) {
  EXPECT_EQ(in_words(hours(24 * 7)), "7 days");
  EXPECT_EQ(in_words(hours(24)), "1 day");
  EXPECT_EQ(in_words(hours(36)), "36 hours");
  EXPECT_EQ(in_words(seconds(5'400)), "90 minutes");
  EXPECT_EQ(in_words(seconds(604'801)), "604801 seconds");
  EXPECT_EQ(in_words(milliseconds(1'500)), "1500 ms");
  EXPECT_EQ(in_words(milliseconds(0)), "0 ms");
}

TEST(TimeWords, ALimitIsToldInTheSameWords) {
  EXPECT_EQ(too_long(hours(24 * 8), hours(24 * 7), "a sandbox may live"),
            "8 days is longer than the 7 days that a sandbox may live");
}

}  // namespace
}  // namespace atl
