#include "api/range.h"

#include <gtest/gtest.h>

namespace atl::api {
namespace {

void expect_part(std::string_view header, uint64_t size, uint64_t first, uint64_t length) {
  const auto choice = choose_range(header, size);

  EXPECT_EQ(choice.kind, RangeKind::part) << header;
  EXPECT_EQ(choice.range.first, first) << header;
  EXPECT_EQ(choice.range.length, length) << header;
}

TEST(Range, TakesTheThreeForms) {
  expect_part("bytes=0-0", 10, 0, 1);
  expect_part("bytes=2-4", 10, 2, 3);
  expect_part("bytes=9-", 10, 9, 1);
  expect_part("bytes=-3", 10, 7, 3);
}

TEST(Range, IsClampedToTheFile) {
  expect_part("bytes=5-99", 10, 5, 5);
  expect_part("bytes=-99", 10, 0, 10);
  expect_part("bytes=5-99999999999999999999999", 10, 5, 5);
}

TEST(Range, BeyondTheEndCannotBeSatisfied) {
  for (const auto* header :
       {"bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999999-"}) {
    EXPECT_EQ(choose_range(header, 10).kind, RangeKind::unsatisfiable) << header;
  }
  EXPECT_EQ(choose_range("bytes=0-", 0).kind, RangeKind::unsatisfiable);
}

TEST(Range, WhatIsNotUnderstoodIsNotAsked) {
  for (const auto* header : {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=1-2,4-5",
                             "bytes=1", "items=0-1", "bytes= 1-2", "bytes=+1-2", "bytes=1--2"}) {
    const auto choice = choose_range(header, 10);

    EXPECT_EQ(choice.kind, RangeKind::whole) << header;
    EXPECT_EQ(choice.range.length, 10U) << header;
  }
  EXPECT_EQ(choose_range(std::nullopt, 10).kind, RangeKind::whole);
}

}  // namespace
}  // namespace atl::api
