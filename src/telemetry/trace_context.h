// TraceContext: where a piece of work stands among everybody's, as W3C Trace Context writes it.
//
//   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atl::telemetry {

using TraceId = std::array<uint8_t, 16>;
// Never 0, which stands for "none" where there may be none.
using SpanId = uint64_t;

struct TraceContext {
  TraceId trace{};
  SpanId span = 0;
  bool sampled = true;  // somebody further on should keep what belongs to it
};

// Strict, as the specification asks: what is malformed in any way is nullopt, and whoever gets it
// begins a trace of its own. Of later versions the known beginning is read.
std::optional<TraceContext> find_context(std::string_view traceparent);
std::string to_traceparent(const TraceContext& context);

std::optional<TraceId> find_trace_id(std::string_view text);  // 32 lower-case hex digits
std::string to_hex(const TraceId& trace);                     // 32 digits
std::string to_hex(SpanId span);                              // 16 digits

}  // namespace atl::telemetry
