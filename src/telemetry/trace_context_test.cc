#include "telemetry/trace_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::telemetry {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContexts, AreReadAndWritten) {
  const auto context = find_context(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(to_hex(context->trace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(to_hex(context->span), "00f067aa0ba902b7");
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(to_traceparent(*context), kGood);
}

TEST(TraceContexts, CarryWhetherTheyAreSampled) {
  const auto context = find_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  ASSERT_TRUE(context);
  EXPECT_FALSE(context->sampled);
  EXPECT_TRUE(to_traceparent(*context).ends_with("-00"));
  // Flags that nobody has defined yet do not count.
  EXPECT_TRUE(find_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03")->sampled);
}

TEST(TraceContexts, OfLaterVersionsAreReadAsFarAsTheyAreKnown) {
  EXPECT_TRUE(find_context("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  EXPECT_TRUE(find_context("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what"));
  EXPECT_FALSE(find_context("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what"));
}

TEST(TraceContexts, ThatAreMalformedAreNone) {
  for (const char* text : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
           " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473z-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bz-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0z",
           "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
       }) {
    EXPECT_FALSE(find_context(text)) << text;
  }
}

TEST(TraceContexts, EveryCutOfAGoodOneIsNone) {
  for (size_t length = 0; length < kGood.size(); ++length) {
    EXPECT_FALSE(find_context(kGood.substr(0, length))) << length;
  }
}

}  // namespace
}  // namespace atl::telemetry
