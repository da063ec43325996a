#include "cli/driver_comparison.h"

#include <gmock/gmock.h>

#include "client/answer.h"

namespace atl::cli {
namespace {

using ::testing::HasSubstr;

std::string compare(std::string_view json) {
  const auto value = client::parse_answer(json).value();
  return compare_drivers(value.get_array());
}

TEST(DriverComparison, WhatIsMeasuredComesBeforeWhatIsDeclared) {
  const std::string table = compare(R"([
    {"name":"native","available":true,"measured_start_ms":1.234,"price_per_hour":0,
     "capabilities":{"isolation":"container","placement":"host","typical_start_ms":4,"network":"deny",
       "snapshot":true,"limits":{"cpu":"enforced","memory":"per_process"}}},
    {"name":"cloud","available":true,"price_per_hour":0.05,
     "capabilities":{"isolation":"vm","placement":"third_party","typical_start_ms":900,"network":"rules"}},
    {"name":"odd","available":true,"capabilities":{"isolation":"process","placement":"own","network":"none"}}])");

  EXPECT_THAT(table, HasSubstr("1.2 ms measured"));
  EXPECT_THAT(table, HasSubstr("free"));
  EXPECT_THAT(table, HasSubstr("cpu; of each process: memory"));
  EXPECT_THAT(table, HasSubstr("cut off"));
  EXPECT_THAT(table, HasSubstr("900 ms declared"));
  EXPECT_THAT(table, HasSubstr("$0.05"));
  EXPECT_THAT(table, HasSubstr("code of strangers"));
  EXPECT_THAT(table, HasSubstr("not known"));
  EXPECT_THAT(table, HasSubstr("the host's"));
}

TEST(DriverComparison, OneThatIsNotAvailableHasItsRow) {
  EXPECT_THAT(compare(R"([{"name":"docker","available":false}])"),
              HasSubstr("docker   not available"));
}

}  // namespace
}  // namespace atl::cli
