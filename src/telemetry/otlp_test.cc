#include "telemetry/otlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "json/value.h"
#include "telemetry/tracer.h"

namespace atl::telemetry {
namespace {

TEST(Otlp, IsWhatACollectorReads) {
  FakeClock clock;
  Tracer tracer(clock);
  Trace::Facts facts{.root = 0x00f067aa0ba902b7, .tenant = "default"};
  facts.context = *find_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01");
  OpenSpan root = tracer.begin(std::move(facts), "POST /v1/runs", clock.boot());
  root.set("http.route", "/v1/runs");
  root.set("http.response.status_code", int64_t{503});
  root.set("warm", true);
  root.set("odd", "a\"b\n\xff");
  const TracePtr trace = root.scope().trace();
  clock.advance(Millis(2));
  root.scope().add("route", clock.boot(), clock.boot());
  root.fail(Code::unavailable);
  root.end();

  const EndedSpan spans[] = {{trace, 0}, {trace, 1}};
  const auto text = to_otlp({"atoll", "1.2.3", "store1"}, spans);
  const auto value = json::parse(text);
  ASSERT_TRUE(value) << value.error().message() << text;
  const auto& resource = value->at("resourceSpans").at(0);
  EXPECT_EQ(resource.at("resource").at("attributes").at(0).at("value").at("stringValue"), "atoll");
  const auto& list = resource.at("scopeSpans").at(0).at("spans").as_array();
  ASSERT_EQ(list.size(), 2u);

  EXPECT_EQ(list[0].at("name"), "route");
  EXPECT_EQ(list[0].at("parentSpanId"), "00f067aa0ba902b7");
  EXPECT_EQ(list[0].at("kind"), 1);
  EXPECT_FALSE(list[0].as_object().contains("status"));

  const auto& told = list[1];
  EXPECT_EQ(told.at("traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(told.at("spanId"), "00f067aa0ba902b7");
  EXPECT_EQ(told.at("parentSpanId"), "00000000000000aa");
  EXPECT_EQ(told.at("kind"), 2);
  EXPECT_EQ(told.at("status").at("code"), 2);
  EXPECT_EQ(told.at("status").at("message"), "unavailable");
  const auto begin = std::stoll(told.at("startTimeUnixNano").as_string().c_str());
  const auto end = std::stoll(told.at("endTimeUnixNano").as_string().c_str());
  EXPECT_EQ(end - begin, 2'000'000);
  const auto& attributes = told.at("attributes").as_array();
  EXPECT_EQ(attributes[1].at("value").at("intValue"), "503");
  EXPECT_EQ(attributes[2].at("value").at("boolValue"), true);
  EXPECT_EQ(attributes[3].at("value").at("stringValue"), "a\"b\n\xEF\xBF\xBD");
}

TEST(Otlp, ASpanWithoutAParentSaysNone) {
  FakeClock clock;
  Tracer tracer(clock);
  OpenSpan root = tracer.begin({.root = 5}, "alone", clock.boot());
  const TracePtr trace = root.scope().trace();
  root.end();
  const EndedSpan spans[] = {{trace, 0}};
  const auto value = json::parse(to_otlp({}, spans)).value();
  const auto& told = value.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").at(0);
  EXPECT_FALSE(told.as_object().contains("parentSpanId"));
}

}  // namespace
}  // namespace atl::telemetry
