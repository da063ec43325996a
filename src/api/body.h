// Request bodies: JSON into a described struct. Only .cc files of resources include this.
#pragma once

#include "api/call.h"
#include "json/decode.h"

namespace atl::api {

namespace detail {

template <typename T>
Result<T> decode_body(std::string_view json, size_t limit) {
  auto decoded = json::decode<T>(json, {.max_bytes = limit});
  if (!decoded) return std::move(decoded).error().at_stage("request");
  return decoded;
}

}  // namespace detail

template <typename T>
Task<T> read_json(Call& call, size_t limit) {
  auto decoding = call.trace().begin("decode");
  CO_TRY(const std::string text, co_await call.read_text(limit));
  auto decoded = detail::decode_body<T>(text, limit);
  decoding.end(decoded);
  co_return decoded;
}

// For requests that need say nothing: an empty body reads as {}.
template <typename T>
Task<T> read_optional_json(Call& call) {
  auto decoding = call.trace().begin("decode");
  CO_TRY(const std::string text, co_await call.read_text(kMostJson));
  auto decoded = detail::decode_body<T>(text.empty() ? std::string_view("{}") : text, kMostJson);
  decoding.end(decoded);
  co_return decoded;
}

}  // namespace atl::api
