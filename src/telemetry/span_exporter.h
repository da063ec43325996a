// SpanExporter: sends finished spans to an OTLP collector, and never makes anybody wait for it.
//
// Spans wait in a bounded queue and go in batches. A collector that hangs, refuses or is away costs
// spans, which are counted in atoll_exported_spans_total, and nothing else. What may be tried again
// (no answer, 429, 502, 503, 504) is tried again with growing pauses, everything else is given up
// at once.
#pragma once

#include <memory>

#include "base/task.h"
#include "telemetry/otlp.h"
#include "telemetry/tracer_state.h"

namespace atl::telemetry {

class Metrics;

// How a batch travels. An error is a collector that did not answer.
class OtlpTransport {
 public:
  struct Answer {
    int status = 0;
    std::string body;
  };

  virtual ~OtlpTransport() = default;
  // Has a deadline of its own.
  virtual Task<Answer> post(std::string json) = 0;
};

struct ExportOptions {
  OtlpResource resource;
  size_t most_queued = 8'192;
  size_t batch = 128;       // what is encoded in one go; see docs/observability.md for its cost
  Millis linger{1'000};     // a smaller batch waits so long for more
  Millis first_pause{500};  // before a second attempt; doubled for each further one
  Millis longest_pause{30'000};
  int attempts = 6;
};

class SpanExporter final : public SpanSink {
 public:
  // `metrics` outlives the exporter.
  SpanExporter(const asio::any_io_executor& executor, std::unique_ptr<OtlpTransport> transport,
               Metrics& metrics, ExportOptions options);
  ~SpanExporter() override;
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  void on_span(const TracePtr& trace, size_t index) override;
  size_t queued() const;

  // Sends what is left, without pauses and for at most `most`; Code::deadline_exceeded if that was
  // not enough. The last thing that is asked of an exporter.
  Task<> finish(Millis most);

 private:
  struct State;
  static Task<> work(std::shared_ptr<State> state);
  static void begin_work(const std::shared_ptr<State>& state);
  static Task<> send(std::shared_ptr<State> state, std::vector<EndedSpan> batch);

  std::shared_ptr<State> state_;
};

}  // namespace atl::telemetry
