// Trace: what one request did, as spans; and the handles that spans are made with.
//
//   OpenSpan span = scope.begin("create");
//   span.set("atoll.driver", driver);
//   …
//   span.end(result);                 // or its destructor, which counts as success
//
// Attributes name things that Atoll itself knows: drivers, ids, codes, counts. Never environment
// values, stdin, file contents or arguments; of a command only argv[0].
//
// Everything lives on the core loop. Nothing here waits or fails: what is over a limit is dropped
// and counted.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "telemetry/trace_context.h"

namespace atl::telemetry {

struct Attribute {
  std::string_view key;  // a constant of ours
  std::variant<std::string, int64_t, double, bool> value;
};

struct Span {
  SpanId id = 0;
  SpanId parent = 0;  // 0 = none; the first of a trace may have one that somebody else made
  std::string name;
  Micros begin{0}, end{0};  // on Clock::boot()
  std::string_view error;   // the code that it failed with; "" = it went well
  std::vector<Attribute> attributes;
};

class Trace;
class OpenSpan;
struct TracerState;
using TracePtr = std::shared_ptr<Trace>;

class Trace final {
 public:
  static constexpr size_t kMostSpans = 1'000;
  static constexpr size_t kMostSandboxes = 100;

  struct Facts {
    TraceContext context;    // as the request came: its span is the caller's, 0 = none
    SpanId root = 0;         // of the request itself
    bool was_asked = false;  // the caller sent a context of its own
    std::string request_id;
    // Who asked, for whoever decides who may see it.
    std::string tenant = {};
    std::string subject = {};
    std::string token_sandbox = {};  // "" unless a sandbox's token was shown
  };

  Trace(std::shared_ptr<TracerState> tracer, Facts facts);

  const Facts& facts() const { return facts_; }
  const std::vector<Span>& spans() const { return spans_; }  // as they ended
  size_t dropped_spans() const { return dropped_; }
  const std::vector<std::string>& sandboxes() const { return sandboxes_; }
  // When it was, in microseconds since 1970. A trace is consistent in itself, whoever sets the
  // clock meanwhile.
  int64_t unix_micros(Micros boot) const { return (boot + to_wall_).count(); }

  // It has to do with this sandbox, and is found by it.
  void note_sandbox(std::string_view id);

 private:
  friend class OpenSpan;
  friend class SpanScope;
  friend struct TracerState;

  void add(Span span);

  std::shared_ptr<TracerState> tracer_;
  Facts facts_;
  Micros to_wall_;
  std::vector<Span> spans_;
  size_t dropped_ = 0;
  bool is_kept_ = false;  // by the tracer
  std::vector<std::string> sandboxes_;
};

// A place in a trace under which spans are made. Without a trace nothing below it does anything, at
// no cost worth telling.
class SpanScope final {
 public:
  SpanScope() = default;
  SpanScope(TracePtr trace, SpanId parent) : trace_(std::move(trace)), parent_(parent) {}

  explicit operator bool() const { return trace_ != nullptr; }
  const TracePtr& trace() const { return trace_; }

  OpenSpan begin(std::string_view name) const;
  // One that is over already.
  void add(std::string_view name, Micros begin, Micros end) const;
  void note_sandbox(std::string_view id) const {
    if (trace_) trace_->note_sandbox(id);
  }

 private:
  TracePtr trace_;
  SpanId parent_ = 0;
};

class OpenSpan final {
 public:
  static constexpr size_t kMostAttributes = 16;
  static constexpr size_t kMostTextBytes = 256;

  OpenSpan() = default;  // of no trace
  OpenSpan(TracePtr trace, SpanId id, SpanId parent, std::string_view name, Micros begin);
  OpenSpan(OpenSpan&& other) noexcept = default;
  OpenSpan& operator=(OpenSpan&& other) noexcept;
  ~OpenSpan() { end(); }

  void set(std::string_view key, std::string_view text);  // the beginning of a long one
  void set(std::string_view key, int64_t number);
  void set(std::string_view key, bool flag);
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }

  // For what happens within it.
  SpanScope scope() const { return {trace_, span_.id}; }
  // For what happens elsewhere on its behalf.
  TraceContext context() const;

  void fail(Code code) { span_.error = to_string(code); }
  template <typename T>
  void end(const Result<T>& result) {
    if (!result) fail(result.error().code());
    end();
  }
  void end();
  // It never was.
  void drop() { trace_ = nullptr; }

 private:
  void put(std::string_view key, std::variant<std::string, int64_t, double, bool> value);

  TracePtr trace_;
  Span span_;
};

}  // namespace atl::telemetry
