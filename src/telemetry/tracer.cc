#include "telemetry/tracer.h"

#include <algorithm>
#include <cstring>

#include "base/ids.h"
#include "telemetry/tracer_state.h"

namespace atl::telemetry {

TracerState::TracerState(const Clock& the_clock) : clock(the_clock) {
  std::array<uint8_t, sizeof seed> bytes;
  fill_random(bytes);
  std::memcpy(&seed, bytes.data(), sizeof seed);
}

SpanId TracerState::next_id() {
  SpanId id = 0;
  while (id == 0) {
    // SplitMix64: every state is met once in 2^64 steps, and the mixing is one-to-one.
    seed += 0x9e3779b97f4a7c15;
    id = seed;
    id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9;
    id = (id ^ id >> 27) * 0x94d049bb133111eb;
    id ^= id >> 31;
  }
  return id;
}

void TracerState::keep(const TracePtr& trace) {
  trace->is_kept_ = true;
  kept.push_back(trace);
  if (kept.size() > Tracer::kMostTraces) forget_oldest();
}

void TracerState::take(const TracePtr& trace, Span span) {
  const size_t index = trace->spans().size();
  trace->add(std::move(span));
  if (trace->spans().size() == index) return;  // it has too many
  if (trace->is_kept_ && ++kept_spans > Tracer::kMostKeptSpans) forget_oldest();
  if (sink != nullptr && trace->facts().context.sampled) sink->on_span(trace, index);
}

void TracerState::forget_oldest() {
  const TracePtr oldest = std::move(kept.front());
  kept.pop_front();
  oldest->is_kept_ = false;
  kept_spans -= oldest->spans().size();
}

Tracer::Tracer(const Clock& clock) : state_(std::make_shared<TracerState>(clock)) {}

Tracer::~Tracer() {
  // Traces hold on to the state, and it to them.
  state_->kept.clear();
  state_->sink = nullptr;
}

Micros Tracer::now() const { return state_->clock.boot(); }

OpenSpan Tracer::begin(Trace::Facts facts, std::string_view name, Micros since) {
  const SpanId root = facts.root;
  const SpanId parent = facts.context.span;
  auto trace = std::make_shared<Trace>(state_, std::move(facts));
  state_->keep(trace);
  return {std::move(trace), root, parent, name, since};
}

std::vector<TracePtr> Tracer::find(const TraceFilter& filter) const {
  std::vector<TracePtr> found;
  for (auto it = state_->kept.rbegin(); it != state_->kept.rend(); ++it) {
    if (found.size() >= filter.limit) break;
    const Trace& trace = **it;
    const auto& facts = trace.facts();
    const bool matches =
        (!filter.sees || filter.sees(facts)) &&
        (!filter.trace || facts.context.trace == *filter.trace) &&
        (filter.request_id.empty() || facts.request_id == filter.request_id) &&
        (filter.sandbox.empty() ||
         std::ranges::find(trace.sandboxes(), filter.sandbox) != trace.sandboxes().end());
    if (matches && !trace.spans().empty()) found.push_back(*it);
  }
  return found;
}

void Tracer::set_sink(SpanSink* sink) { state_->sink = sink; }

}  // namespace atl::telemetry
