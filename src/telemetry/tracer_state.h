// What a tracer shares with its traces, which may outlive it.
#pragma once

#include <deque>

#include "telemetry/trace.h"

namespace atl::telemetry {

// Told of every span as it ends: it is trace.spans()[index], and stays there.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void on_span(const TracePtr& trace, size_t index) = 0;
};

struct TracerState {
  explicit TracerState(const Clock& the_clock);

  // Unique, and no secret: a generator of our own, seeded by the kernel, for a fraction of what the
  // kernel's costs.
  SpanId next_id();
  void keep(const TracePtr& trace);
  void take(const TracePtr& trace, Span span);
  void forget_oldest();

  const Clock& clock;
  uint64_t seed = 0;
  SpanSink* sink = nullptr;
  std::deque<TracePtr> kept;  // the oldest first
  size_t kept_spans = 0;
};

}  // namespace atl::telemetry
