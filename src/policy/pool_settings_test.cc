#include "policy/pool_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/yaml.h"
#include "policy/pool_reader.h"

namespace atl::policy {
namespace {

using ::testing::HasSubstr;

Result<PoolAsk> read(const std::string& text) {
  auto document = json::parse_yaml(text, "test", {.max_bytes = 4096, .max_depth = 8});
  EXPECT_TRUE(document.has_value());
  return read_pool(document->value());
}

TEST(PoolSettings, DefaultsAreOneThatIsReplacedEveryHour) {
  EXPECT_EQ(settle({}).value(),
            (PoolSettings{.min = 0, .target = 1, .max = 1, .idle_s = 600, .max_age_s = 3600}));
}

TEST(PoolSettings, OneNumberIsEnough) {
  EXPECT_EQ(settle({.min = 3}).value().target, 3);
  EXPECT_EQ(settle({.min = 3}).value().max, 3);
  EXPECT_EQ(settle({.max = 5}).value().target, 1);
  EXPECT_EQ(settle({.target = 4}).value().max, 4);
  EXPECT_EQ(settle({.target = 0, .max = 4}).value().target, 0);
}

TEST(PoolSettings, WhatContradictsItselfIsRefusedByField) {
  const auto problem = [](PoolAsk ask) { return settle(ask).error().message(); };
  EXPECT_THAT(problem({.min = -1}), HasSubstr("min: it is a number from 0 to 256"));
  EXPECT_THAT(problem({.min = 3, .target = 2}), HasSubstr("target: it is less than min"));
  EXPECT_THAT(problem({.target = 3, .max = 2}), HasSubstr("max: it is less than target"));
  EXPECT_THAT(problem({.min = 3, .max = 2}), HasSubstr("max: it is less than min"));
  EXPECT_THAT(problem({.max = 0}), HasSubstr("max: it is a number from 1"));
  EXPECT_THAT(problem({.max = 257}), HasSubstr("max: it is a number from 1 to 256"));
  EXPECT_THAT(problem({.idle_s = 0}), HasSubstr("idle_s: it is a number from 1"));
  EXPECT_THAT(problem({.max_age_s = 9}), HasSubstr("max_age_s: it is a number from 10"));
}

TEST(PoolSettings, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(read("{min: 1, target: 2, max: 8, idle: 10m, max_age: 1h}").value(),
            (PoolAsk{.min = 1, .target = 2, .max = 8, .idle_s = 600, .max_age_s = 3600}));
  EXPECT_THAT(read("{size: 3}").error().message(), HasSubstr("pool: expected {min"));
  EXPECT_THAT(read("7").error().message(), HasSubstr("pool: expected {min"));
  EXPECT_THAT(read("{min: 1.5}").error().message(), HasSubstr("whole numbers"));
  EXPECT_THAT(read("{min: 5, max: 2}").error().message(), HasSubstr("pool: max"));
}

TEST(PoolSettings, AChangeKeepsWhatItDoesNotSay) {
  EXPECT_EQ(merge({.min = 1, .max = 4}, {.max = 9}), (PoolAsk{.min = 1, .max = 9}));
}

}  // namespace
}  // namespace atl::policy
