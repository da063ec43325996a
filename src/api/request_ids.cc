#include "api/request_ids.h"

#include <algorithm>

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

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "00-<32 hex>-<16 hex>-<2 hex>"; "" when it is anything else. Later versions may append more.
std::string_view trace_of(std::string_view parent) {
  if (parent.size() < 55 || (parent.size() > 55 && parent[55] != '-')) return {};
  const std::string_view trace = parent.substr(3, 32);
  const bool shaped = parent[2] == '-' && parent[35] == '-' && parent[52] == '-' &&
                      is_lower_hex(parent.substr(0, 2)) && is_lower_hex(trace) &&
                      is_lower_hex(parent.substr(36, 16)) && is_lower_hex(parent.substr(53, 2));
  const bool valid = !parent.starts_with("ff") && trace.find_first_not_of('0') != trace.npos;
  return shaped && valid ? trace : std::string_view();
}

std::string to_request_id(std::span<const uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string id = "req";
  for (const uint8_t byte : bytes) id += kAlphabet[byte & 31];
  return id;
}

}  // namespace

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
  const std::string_view trace = trace_of(headers.get("traceparent"));
  ids.trace_id = trace.empty() ? to_hex(take(16)) : std::string(trace);
  return ids;
}

}  // namespace atl::api
