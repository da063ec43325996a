// Tracer: begins traces, and remembers the latest of them for GET /v1/traces.
//
// Of finished spans so many are kept that memory stays bounded; the oldest trace goes first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/trace.h"

namespace atl::telemetry {

class SpanSink;

// Everything given must match.
struct TraceFilter {
  std::function<bool(const Trace::Facts&)> sees;  // null = everything is seen
  std::optional<TraceId> trace;
  std::string sandbox;  // an id; "" = any
  std::string request_id;
  size_t limit = 100;
};

class Tracer final {
 public:
  static constexpr size_t kMostTraces = 2'000;
  static constexpr size_t kMostKeptSpans = 40'000;

  // The clock outlives the tracer and its traces.
  explicit Tracer(const Clock& clock);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // On the clock of its spans.
  Micros now() const;
  // The trace and the span of the request itself, which began at `since`.
  OpenSpan begin(Trace::Facts facts, std::string_view name, Micros since);

  // The latest first.
  std::vector<TracePtr> find(const TraceFilter& filter) const;

  // Null ends it. It must be ended before the sink is.
  void set_sink(SpanSink* sink);

 private:
  std::shared_ptr<TracerState> state_;
};

}  // namespace atl::telemetry
