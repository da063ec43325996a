// Request bodies: JSON into a described struct. Only .cc files of resources include this.
#pragma once

#include "api/call.h"
#include "json/decode.h"

namespace atl::api {

// An empty body reads as {}.
template <typename T>
Task<T> read_json(Call& call, size_t limit) {
  CO_TRY(const std::string text, co_await call.read_text(limit));
  const std::string_view json = text.empty() ? std::string_view("{}") : std::string_view(text);
  auto decoded = json::decode<T>(json, {.max_bytes = limit});
  if (!decoded) co_return std::move(decoded).error().at_stage("request");
  co_return std::move(*decoded);
}

}  // namespace atl::api
