#include "telemetry/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/fake_clock.h"
#include "telemetry/stages.h"
#include "telemetry/tracer_state.h"

namespace atl::telemetry {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr SpanId kRoot = 1;

class Tracing : public testing::Test {
 protected:
  OpenSpan begin(std::string request_id = "req1", std::string tenant = "default") {
    Trace::Facts facts{
        .root = kRoot, .request_id = std::move(request_id), .tenant = std::move(tenant)};
    facts.context.trace[0] = 7;
    return tracer_.begin(std::move(facts), "POST /v1/runs", clock_.boot());
  }
  std::vector<TracePtr> find(TraceFilter filter = {}) {
    filter.sees = [](const Trace::Facts& facts) { return facts.tenant == "default"; };
    return tracer_.find(filter);
  }

  FakeClock clock_;
  Tracer tracer_{clock_};
};

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const Span& span : trace.spans()) names.push_back(span.name);
  return names;
}

TEST_F(Tracing, SpansKnowTheirParentsAndTimes) {
  OpenSpan root = begin();
  OpenSpan inner = root.scope().begin("exec");
  clock_.advance(Millis(3));
  inner.end();
  clock_.advance(Millis(2));
  root.end();

  const auto found = find();
  ASSERT_THAT(found, SizeIs(1));
  ASSERT_THAT(names_of(*found[0]), ElementsAre("exec", "POST /v1/runs"));
  const Span& exec = found[0]->spans()[0];
  EXPECT_EQ(exec.parent, kRoot);
  EXPECT_NE(exec.id, 0u);
  EXPECT_EQ(exec.end - exec.begin, Millis(3));
  EXPECT_EQ(found[0]->spans()[1].end - found[0]->spans()[1].begin, Millis(5));
}

TEST_F(Tracing, StagesAreSpans) {
  OpenSpan root = begin();
  StageTimer timer(clock_);
  timer.trace_to(root.scope());
  clock_.advance(Millis(1));
  timer.mark("route");
  clock_.advance(Millis(2));
  timer.mark("create");
  root.end();
  const auto& spans = find()[0]->spans();
  EXPECT_EQ(spans[0].name, "route");
  EXPECT_EQ(spans[1].begin, spans[0].end);
  EXPECT_EQ(spans[1].end - spans[1].begin, Millis(2));
}

TEST_F(Tracing, WithoutATraceNothingHappens) {
  SpanScope nowhere;
  OpenSpan span = nowhere.begin("exec");
  span.set("key", "value");
  nowhere.add("route", Micros(0), Micros(1));
  nowhere.note_sandbox("sbx1");
  EXPECT_FALSE(span.scope());
  span.end();
  EXPECT_THAT(find(), IsEmpty());
}

TEST_F(Tracing, FailuresAreTheirCode) {
  OpenSpan root = begin();
  root.end(Result<int>(Error(Code::unavailable, "secret words")));
  EXPECT_EQ(find()[0]->spans()[0].error, "unavailable");
}

TEST_F(Tracing, AttributesAreBounded) {
  OpenSpan root = begin();
  root.set("long", std::string(10'000, 'x'));
  for (int i = 0; i < 100; ++i) root.set("n", int64_t{i});
  root.end();
  const auto& attributes = find()[0]->spans()[0].attributes;
  EXPECT_THAT(attributes, SizeIs(OpenSpan::kMostAttributes));
  EXPECT_THAT(std::get<std::string>(attributes[0].value), SizeIs(OpenSpan::kMostTextBytes));
}

TEST_F(Tracing, ATraceHasABoundedNumberOfSpansAndCountsTheRest) {
  OpenSpan root = begin();
  for (size_t i = 0; i < Trace::kMostSpans + 5; ++i)
    root.scope().add("run", clock_.boot(), clock_.boot());
  root.end();
  const auto found = find();
  EXPECT_THAT(found[0]->spans(), SizeIs(Trace::kMostSpans));
  EXPECT_EQ(found[0]->dropped_spans(), 6u);
}

TEST_F(Tracing, TheOldestTracesAreForgotten) {
  for (size_t i = 0; i < Tracer::kMostTraces + 10; ++i) begin("req" + std::to_string(i)).end();
  EXPECT_THAT(find({.sees = {}, .request_id = "req9"}), IsEmpty());
  EXPECT_THAT(find({.sees = {}, .request_id = "req10"}), SizeIs(1));
  EXPECT_THAT(find({.sees = {}, .limit = 100'000}), SizeIs(Tracer::kMostTraces));
}

TEST_F(Tracing, SoAreThoseThatHoldTooManySpans) {
  constexpr size_t kEach = Trace::kMostSpans;
  for (size_t i = 0; i <= Tracer::kMostKeptSpans / kEach; ++i) {
    OpenSpan root = begin("req" + std::to_string(i));
    for (size_t n = 1; n < kEach; ++n) root.scope().add("run", clock_.boot(), clock_.boot());
    root.end();
  }
  size_t spans = 0;
  for (const auto& trace : find({.sees = {}, .limit = 100'000})) spans += trace->spans().size();
  EXPECT_LE(spans, Tracer::kMostKeptSpans);
  EXPECT_GT(spans, Tracer::kMostKeptSpans - 2 * kEach);
  EXPECT_THAT(find({.sees = {}, .request_id = "req0"}), IsEmpty());
}

TEST_F(Tracing, TracesAreFoundBySandboxRequestAndTenant) {
  OpenSpan one = begin("req1");
  one.scope().note_sandbox("sbx1");
  one.scope().note_sandbox("sbx1");
  one.end();
  begin("req2").end();
  begin("req3", "other").end();
  EXPECT_THAT(find({.sees = {}, .sandbox = "sbx1"}), SizeIs(1));
  EXPECT_THAT(find({.sees = {}, .request_id = "req2"}), SizeIs(1));
  EXPECT_THAT(find({.sees = {}, .request_id = "req3"}), IsEmpty());
  EXPECT_THAT(find(), SizeIs(2));
  EXPECT_EQ(find()[0]->facts().request_id, "req2") << "the latest comes first";
  EXPECT_THAT(find()[1]->sandboxes(), ElementsAre("sbx1"));
}

TEST_F(Tracing, SpansThatEndAfterTheTracerDoNoHarm) {
  OpenSpan late;
  {
    Tracer tracer(clock_);
    late = tracer.begin({.root = kRoot}, "late", clock_.boot());
  }
  late.end();
}

class Recorder final : public SpanSink {
 public:
  void on_span(const TracePtr& trace, size_t index) override {
    names.push_back(trace->spans()[index].name);
  }
  std::vector<std::string> names;
};

TEST_F(Tracing, ASinkHearsOfSampledSpansOnly) {
  Recorder recorder;
  tracer_.set_sink(&recorder);
  begin().end();
  Trace::Facts quiet{.root = kRoot, .tenant = "default"};
  quiet.context.sampled = false;
  tracer_.begin(std::move(quiet), "quiet", clock_.boot()).end();
  EXPECT_THAT(recorder.names, ElementsAre("POST /v1/runs"));
  EXPECT_THAT(find(), SizeIs(2)) << "kept all the same";
  tracer_.set_sink(nullptr);
}

TEST_F(Tracing, IdsAreNeitherZeroNorRepeated) {
  TracerState state(clock_);
  std::set<SpanId> seen{0};
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(state.next_id()).second);
}

}  // namespace
}  // namespace atl::telemetry
