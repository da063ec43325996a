#include "cli/trace_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace atl::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

json::Value parse(std::string_view text) { return json::parse(text).value(); }

TEST(TraceTree, ShowsWhatHappenedWithinWhat) {
  const std::string text = draw_trace(parse(R"({
    "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","started_at":"2026-11-16T09:00:00.000Z",
    "sandboxes":["sbx1"],"dropped_spans":0,"spans":[
    {"span_id":"a","parent_span_id":"far","name":"POST /v1/runs","offset_ms":0,"duration_ms":2.5,
     "attributes":{"http.response.status_code":200}},
    {"span_id":"b","parent_span_id":"a","name":"exec","offset_ms":0.5,"duration_ms":1.5,
     "attributes":{"process.executable.name":"true","process.exit.code":0}},
    {"span_id":"c","parent_span_id":"b","name":"wake","offset_ms":0.5,"duration_ms":0.25,
     "attributes":{}},
    {"span_id":"d","parent_span_id":"a","name":"reply","offset_ms":2,"duration_ms":0.5,
     "attributes":{}}]})"));
  EXPECT_EQ(text,
            "trace 4bf92f3577b34da6a3ce929d0e0e4736  2026-11-16T09:00:00.000Z  sandbox sbx1\n"
            "SPAN            AT         TOOK\n"
            "POST /v1/runs   +0.00 ms   2.5 ms    200\n"
            "├─ exec         +0.50 ms   1.5 ms    true  exit 0\n"
            "│  └─ wake      +0.50 ms   0.25 ms\n"
            "└─ reply        +2.0 ms    0.50 ms\n");
}

TEST(TraceTree, TellsFailuresAndWhatWasDropped) {
  const std::string text = draw_trace(parse(R"({"trace_id":"x","dropped_spans":3,"spans":[
    {"span_id":"a","name":"exec","error":"unavailable"}]})"));
  EXPECT_THAT(text, HasSubstr("failed: unavailable"));
  EXPECT_THAT(text, HasSubstr("3 more were not kept"));
}

TEST(TraceTree, SurvivesAnswersThatMakeNoSense) {
  // Two that contain each other, one that contains itself, escapes for the terminal.
  const std::string text = draw_trace(parse(R"({"trace_id":"\u001b[2J","spans":[
    {"span_id":"a","parent_span_id":"b","name":"one"},
    {"span_id":"b","parent_span_id":"a","name":"two"},
    {"span_id":"c","parent_span_id":"c","name":"three"},
    {"span_id":"d","name":"\u001b]0;x"}, {"span_id":"","name":"none"}, 7, null]})"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(draw_trace(parse("[]")), HasSubstr("trace"));
}

TEST(TraceTree, ShowsEverySpanOnceHoweverManyShareAnId) {
  std::string spans = R"({"span_id":"0","name":"top"})";
  for (int level = 1; level < 20; ++level) {
    for (int twin = 0; twin < 2; ++twin) {
      spans += R"(,{"name":"twin","span_id":")" + std::to_string(level) +
               R"(","parent_span_id":")" + std::to_string(level - 1) + "\"}";
    }
  }
  const std::string text = draw_trace(parse(R"({"trace_id":"x","spans":[)" + spans + "]}"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 1 + 2 * 19);
}

}  // namespace
}  // namespace atl::cli
