#include "telemetry/trace.h"

#include <algorithm>

#include "telemetry/tracer_state.h"

namespace atl::telemetry {
namespace {

Micros wall_now() {
  return std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

Trace::Trace(std::shared_ptr<TracerState> tracer, Facts facts)
    : tracer_(std::move(tracer)),
      facts_(std::move(facts)),
      to_wall_(wall_now() - tracer_->clock.boot()) {
  spans_.reserve(12);  // what a run has
}

void Trace::note_sandbox(std::string_view id) {
  if (sandboxes_.size() >= kMostSandboxes || std::ranges::find(sandboxes_, id) != sandboxes_.end())
    return;
  sandboxes_.emplace_back(id);
}

void Trace::add(Span span) {
  if (spans_.size() >= kMostSpans) {
    ++dropped_;
    return;
  }
  spans_.push_back(std::move(span));
}

OpenSpan SpanScope::begin(std::string_view name) const {
  if (!trace_) return {};
  auto& tracer = *trace_->tracer_;
  return {trace_, tracer.next_id(), parent_, name, tracer.clock.boot()};
}

void SpanScope::add(std::string_view name, Micros begin, Micros end) const {
  if (!trace_) return;
  TracerState& tracer = *trace_->tracer_;
  tracer.take(trace_, Span{.id = tracer.next_id(),
                           .parent = parent_,
                           .name = std::string(name),
                           .begin = begin,
                           .end = end,
                           .error = {},
                           .attributes = {}});
}

OpenSpan::OpenSpan(TracePtr trace, SpanId id, SpanId parent, std::string_view name, Micros begin)
    : trace_(std::move(trace)) {
  span_.id = id;
  span_.parent = parent;
  span_.name = name;
  span_.begin = begin;
}

OpenSpan& OpenSpan::operator=(OpenSpan&& other) noexcept {
  end();
  trace_ = std::move(other.trace_);
  span_ = std::move(other.span_);
  return *this;
}

void OpenSpan::put(std::string_view key, std::variant<std::string, int64_t, double, bool> value) {
  if (!trace_ || span_.attributes.size() >= kMostAttributes) return;
  span_.attributes.push_back({key, std::move(value)});
}

void OpenSpan::set(std::string_view key, std::string_view text) {
  if (trace_) put(key, std::string(text.substr(0, kMostTextBytes)));
}
void OpenSpan::set(std::string_view key, int64_t number) { put(key, number); }
void OpenSpan::set(std::string_view key, bool flag) { put(key, flag); }

TraceContext OpenSpan::context() const {
  if (!trace_) return {};
  const TraceContext& whole = trace_->facts().context;
  return {whole.trace, span_.id, whole.sampled};
}

void OpenSpan::end() {
  if (!trace_) return;
  const TracePtr trace = std::move(trace_);
  TracerState& tracer = *trace->tracer_;
  span_.end = std::max(span_.begin, tracer.clock.boot());
  tracer.take(trace, std::move(span_));
}

}  // namespace atl::telemetry
