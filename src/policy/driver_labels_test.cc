#include "policy/driver_labels.h"

#include <gmock/gmock.h>

namespace atl::policy {
namespace {

TEST(DriverLabels, AListHasEachNameOnce) {
  EXPECT_EQ(parse_driver_labels("zone=eu,gpu").value(),
            (DriverLabels{{"zone", "eu"}, {"gpu", ""}}));
  EXPECT_FALSE(parse_driver_labels("zone=eu,zone=us").has_value());
}

TEST(DriverLabels, WordsAreShortAndPlain) {
  for (const char* text : {"", "=eu", "zone=e u", "zone=a=b", "zone=eu,", "z\x1b=eu"}) {
    const auto parsed = parse_driver_labels(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code(), Code::invalid_argument) << text;
  }
  EXPECT_FALSE(parse_driver_labels("zone=" + std::string(64, 'x')).has_value());
  EXPECT_TRUE(parse_driver_labels("zone=" + std::string(63, 'x')).has_value());
}

TEST(DriverLabels, ThereAreNotTooMany) {
  DriverLabels labels;
  for (size_t i = 0; i < kMostDriverLabels; ++i) labels["l" + std::to_string(i)] = "x";
  EXPECT_TRUE(check_driver_labels(labels));
  labels["more"] = "x";
  EXPECT_FALSE(check_driver_labels(labels));
}

}  // namespace
}  // namespace atl::policy
