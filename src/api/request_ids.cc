#include "api/request_ids.h"

#include <algorithm>
#include <optional>

#include "base/ids.h"

namespace atl::api {
namespace {

constexpr size_t kMostRequestId = 128;

bool is_sane_id(std::string_view text) {
  constexpr std::string_view kBesides = "-_.:+/=@";
  return !text.empty() && text.size() <= kMostRequestId && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kBesides.find(c) != std::string_view::npos;
  });
}

// Of two nobody knows which one is meant.
std::optional<telemetry::TraceContext> find_parent(const net::Headers& headers) {
  if (headers.count("traceparent") != 1) return std::nullopt;
  return telemetry::find_context(headers.get("traceparent"));
}

std::string to_request_id(std::span<const uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string id = "req";
  for (const uint8_t byte : bytes) id += kAlphabet[byte & 31];
  return id;
}

}  // namespace

void add_ids(net::Headers& headers, const RequestIds& ids) {
  headers.add("X-Request-Id", ids.request_id);
  headers.add("X-Trace-Id", ids.trace_id);
  headers.add("traceparent", telemetry::to_traceparent(ids.context));
}

std::span<const uint8_t> RequestIdMaker::take(size_t count) {
  if (pool_.size() - used_ < count) {
    fill_random(pool_);
    used_ = 0;
  }
  used_ += count;
  return std::span(pool_).subspan(used_ - count, count);
}

RequestIds RequestIdMaker::make(const net::Headers& headers) {
  RequestIds ids;
  const std::string_view given = headers.get("X-Request-Id");
  ids.request_id = is_sane_id(given) ? std::string(given) : to_request_id(take(16));
  if (const auto parent = find_parent(headers)) {
    ids.context = *parent;
    ids.caller_span = parent->span;
  } else {
    std::ranges::copy(take(ids.context.trace.size()), ids.context.trace.begin());
  }
  ids.context.span = 0;
  // Zero means "none", in either.
  while (ids.context.span == 0) {
    for (const uint8_t byte : take(8)) ids.context.span = ids.context.span << 8 | byte;
  }
  ids.trace_id = telemetry::to_hex(ids.context.trace);
  return ids;
}

}  // namespace atl::api
