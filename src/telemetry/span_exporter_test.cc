#include "telemetry/span_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/event.h"
#include "base/fake_clock.h"
#include "base/run_task.h"
#include "json/value.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "telemetry/tracer.h"

namespace atl::telemetry {
namespace {

// A collector that does as it is told.
struct Script {
  std::vector<Result<OtlpTransport::Answer>> answers;  // then 200 for ever
  std::vector<size_t> batches;                         // spans of each that came
  size_t posts = 0;
  std::optional<Event> hang;  // answers only when this fires
};

class ScriptedTransport final : public OtlpTransport {
 public:
  explicit ScriptedTransport(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  Task<Answer> post(std::string json) override {
    const auto script = script_;
    const auto value = json::parse(json).value();
    const auto& spans = value.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
    script->batches.push_back(spans.as_array().size());
    const size_t turn = script->posts++;
    if (script->hang) CO_TRY_OK(co_await script->hang->wait());
    if (turn < script->answers.size()) co_return script->answers[turn];
    co_return Answer{200, "{}"};
  }

 private:
  std::shared_ptr<Script> script_;
};

class Exporting : public testing::Test {
 protected:
  Exporting() { set_level(Level::off); }
  ~Exporting() override {
    tracer_.set_sink(nullptr);
    exporter_.reset();
    loop_.restart();
    loop_.poll();
  }

  void start(ExportOptions options = {}) {
    exporter_ = std::make_unique<SpanExporter>(
        loop_.get_executor(), std::make_unique<ScriptedTransport>(script_), metrics_, options);
    tracer_.set_sink(exporter_.get());
  }
  void make_spans(size_t count) {
    for (size_t i = 0; i < count; ++i) tracer_.begin({.root = i + 1}, "span", clock_.boot()).end();
  }
  uint64_t count(const char* outcome) { return metrics_.exported_spans.at(outcome).value(); }
  template <typename Condition>
  bool wait_until(Condition holds) {
    loop_.restart();
    while (!holds()) {
      if (loop_.run_one_for(std::chrono::seconds(10)) == 0) return false;
    }
    return true;
  }

  asio::io_context loop_;
  FakeClock clock_;
  Metrics metrics_;
  Tracer tracer_{clock_};
  std::shared_ptr<Script> script_ = std::make_shared<Script>();
  std::unique_ptr<SpanExporter> exporter_;
};

ExportOptions quick() {
  return {
      .resource = {}, .linger = Millis(1), .first_pause = Millis(1), .longest_pause = Millis(2)};
}

TEST_F(Exporting, SendsWhatWasEndedInBatches) {
  auto options = quick();
  options.batch = 10;
  start(options);
  make_spans(25);
  ASSERT_TRUE(wait_until([&] { return count("sent") == 25; }));
  EXPECT_THAT(script_->batches, testing::ElementsAre(10, 10, 5));
  EXPECT_EQ(exporter_->queued(), 0u);
}

TEST_F(Exporting, TriesAgainWhatMayBeTriedAgain) {
  script_->answers = {OtlpTransport::Answer{503, ""}, OtlpTransport::Answer{429, ""},
                      Error(Code::unavailable, "refused")};
  start(quick());
  make_spans(3);
  ASSERT_TRUE(wait_until([&] { return count("sent") == 3; }));
  EXPECT_EQ(script_->posts, 4u);
}

TEST_F(Exporting, GivesUpWhatTheCollectorRefuses) {
  script_->answers = {OtlpTransport::Answer{500, "oops"}, OtlpTransport::Answer{400, ""}};
  auto options = quick();
  options.batch = 2;
  start(options);
  make_spans(6);
  ASSERT_TRUE(wait_until([&] { return count("sent") == 2; }));
  EXPECT_EQ(count("rejected"), 4u);
}

TEST_F(Exporting, GivesUpWhatCannotBeDeliveredForLong) {
  for (int i = 0; i < 6; ++i) script_->answers.push_back(Error(Code::unavailable, "refused"));
  start(quick());
  make_spans(2);
  ASSERT_TRUE(wait_until([&] { return count("lost") == 2; }));
  make_spans(1);
  ASSERT_TRUE(wait_until([&] { return count("sent") == 1; })) << "and goes on with the rest";
}

TEST_F(Exporting, ACollectorThatHangsCostsABoundedQueue) {
  script_->hang.emplace(loop_.get_executor());
  auto options = quick();
  options.batch = 4;
  options.most_queued = 8;
  start(options);
  make_spans(4);
  ASSERT_TRUE(wait_until([&] { return script_->posts == 1; }));
  make_spans(20);
  EXPECT_EQ(exporter_->queued(), 8u);
  EXPECT_EQ(count("dropped"), 12u);
  script_->hang->fire();
  ASSERT_TRUE(wait_until([&] { return count("sent") == 12; }));
}

TEST_F(Exporting, CountsWhatWasTakenInPart) {
  script_->answers = {
      OtlpTransport::Answer{200, R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}})"}};
  start(quick());
  make_spans(5);
  ASSERT_TRUE(wait_until([&] { return count("sent") == 3; }));
  EXPECT_EQ(count("rejected"), 2u);
}

TEST_F(Exporting, BelievesNoAnswerThatRejectsMoreThanCame) {
  script_->answers = {OtlpTransport::Answer{200, R"({"partialSuccess":{"rejectedSpans":99}})"}};
  start(quick());
  make_spans(5);
  ASSERT_TRUE(wait_until([&] { return count("rejected") == 5; }));
  EXPECT_EQ(count("sent"), 0u);
}

TEST_F(Exporting, FinishSendsWhatIsLeftAtOnce) {
  start({.resource = {}, .linger = std::chrono::hours(1)});
  make_spans(3);
  EXPECT_TRUE(run_task(loop_, exporter_->finish(Millis(10'000))));
  EXPECT_EQ(count("sent"), 3u);
}

TEST_F(Exporting, FinishDoesNotWaitForACollectorThatIsAway) {
  for (int i = 0; i < 100; ++i) script_->answers.push_back(Error(Code::unavailable, "refused"));
  start({.resource = {}, .linger = Millis(1), .first_pause = std::chrono::hours(1)});
  make_spans(3);
  ASSERT_TRUE(wait_until([&] { return script_->posts == 1; }));
  EXPECT_TRUE(run_task(loop_, exporter_->finish(Millis(10'000))));
  EXPECT_EQ(count("lost"), 3u);
}

TEST_F(Exporting, FinishHasADeadline) {
  script_->hang.emplace(loop_.get_executor());
  start(quick());
  make_spans(1);
  const auto finished = run_task(loop_, exporter_->finish(Millis(20)));
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code(), Code::deadline_exceeded);
}

TEST_F(Exporting, MayEndWhileABatchIsUnderWay) {
  script_->hang.emplace(loop_.get_executor());
  start(quick());
  make_spans(2);
  ASSERT_TRUE(wait_until([&] { return script_->posts == 1; }));
  tracer_.set_sink(nullptr);
  exporter_.reset();
  script_->hang->fire();
  loop_.restart();
  loop_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(count("sent"), 0u);
}

}  // namespace
}  // namespace atl::telemetry
