#include "policy/written_value.h"

#include "base/text.h"

namespace atl::policy {
namespace {

constexpr double kMostMs = 100.0 * 365 * 24 * 3600 * 1000;

}  // namespace

Error wrong(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(problem)).with(field);
}

std::optional<double> number_of(const json::Value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double()) return value.get_double();
  return std::nullopt;
}

std::optional<std::string_view> text_of(const json::Value& value) {
  const auto* text = value.if_string();
  if (text == nullptr) return std::nullopt;
  return std::string_view(text->data(), text->size());
}

Result<int64_t> to_ms(std::string_view field, const json::Value& value) {
  int64_t ms = 0;
  if (const auto number = number_of(value)) {
    if (!(*number * 1'000 < kMostMs)) return wrong(field, "it is too long a time");
    ms = static_cast<int64_t>(*number * 1'000);
  } else if (const auto text = text_of(value)) {
    auto time = parse_duration(*text);
    if (!time) return std::move(time).error().with(field);
    ms = time->count();
  } else {
    return wrong(field, "expected a time such as 30s, 10m or 2h");
  }
  if (ms <= 0) return wrong(field, "it must be more than zero");
  return ms;
}

Result<int64_t> to_seconds(std::string_view field, const json::Value& value) {
  TRY(const int64_t ms, to_ms(field, value));
  return (ms + 999) / 1'000;
}

Result<int64_t> to_mib(std::string_view field, const json::Value& value) {
  if (value.is_int64()) return value.get_int64();
  const auto text = text_of(value);
  if (!text) return wrong(field, "expected a size such as 256m or 4g");
  const bool alone =
      !text->empty() && text->find_first_not_of("0123456789") == std::string_view::npos;
  auto bytes = parse_size(alone ? std::string(*text) + "m" : std::string(*text));
  if (!bytes) return std::move(bytes).error().with(field);
  constexpr int64_t kMib = 1 << 20;
  return *bytes / kMib + (*bytes % kMib != 0 ? 1 : 0);
}

}  // namespace atl::policy
