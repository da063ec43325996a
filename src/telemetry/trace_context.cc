#include "telemetry/trace_context.h"

#include <algorithm>

#include "base/ids.h"

namespace atl::telemetry {
namespace {

constexpr size_t kLength = 55;
constexpr size_t kTraceAt = 3, kSpanAt = 36, kFlagsAt = 53;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The bytes of lower-case hex digits; false if it is anything else.
bool read_hex(std::string_view text, uint8_t* bytes) {
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i / 2] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

std::array<uint8_t, 8> to_bytes(SpanId span) {
  std::array<uint8_t, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(span >> (56 - 8 * i));
  return bytes;
}

}  // namespace

std::optional<TraceId> find_trace_id(std::string_view text) {
  TraceId id;
  if (text.size() != 2 * id.size() || !read_hex(text, id.data())) return std::nullopt;
  if (std::ranges::all_of(id, [](uint8_t byte) { return byte == 0; })) return std::nullopt;
  return id;
}

std::optional<TraceContext> find_context(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  uint8_t version = 0;
  if (!read_hex(text.substr(0, 2), &version) || version == 0xff) return std::nullopt;
  const bool is_longer = text.size() > kLength;
  if (is_longer && (version == 0 || text[kLength] != '-')) return std::nullopt;

  TraceContext context;
  std::array<uint8_t, 8> span;
  uint8_t flags = 0;
  const auto trace = find_trace_id(text.substr(kTraceAt, 32));
  if (!trace || !read_hex(text.substr(kSpanAt, 16), span.data()) ||
      !read_hex(text.substr(kFlagsAt, 2), &flags)) {
    return std::nullopt;
  }
  for (const uint8_t byte : span) context.span = context.span << 8 | byte;
  if (context.span == 0) return std::nullopt;
  context.trace = *trace;
  context.sampled = (flags & 1) != 0;
  return context;
}

std::string to_traceparent(const TraceContext& context) {
  std::string text;
  text.reserve(kLength);
  text += "00-";
  text += to_hex(context.trace);
  text += '-';
  text += to_hex(context.span);
  text += context.sampled ? "-01" : "-00";
  return text;
}

std::string to_hex(const TraceId& trace) { return atl::to_hex(trace); }
std::string to_hex(SpanId span) { return atl::to_hex(to_bytes(span)); }

}  // namespace atl::telemetry
