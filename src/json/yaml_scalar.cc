#include "json/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string>

#include "json/path.h"

namespace atl::json::detail {
namespace {

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename Number, typename... Base>
std::optional<Number> whole_number(std::string_view text, Base... base) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number, base...);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

Value text_value(std::string_view word) {
  return Value(boost::json::string_view(word.data(), word.size()));
}

Value decimal(std::string_view word, std::string_view number) {
  if (const auto value = whole_number<int64_t>(number)) return Value(*value);
  if (const auto value = whole_number<uint64_t>(number)) return Value(*value);
  if (const auto value = whole_number<double>(number)) return Value(*value);
  return text_value(word);
}

}  // namespace

Result<Value> plain_scalar(std::string_view word) {
  if (is_any_of(word, {"", "~", "null", "Null", "NULL"})) return Value(nullptr);
  if (is_any_of(word, {"true", "True", "TRUE"})) return Value(true);
  if (is_any_of(word, {"false", "False", "FALSE"})) return Value(false);

  std::string_view number = word;
  if (number.starts_with('+')) number.remove_prefix(1);
  const std::string_view digits = number.starts_with('-') ? number.substr(1) : number;

  if (is_any_of(digits, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) {
    return Error(Code::invalid_argument, "expected a finite number, got " + quote(word));
  }
  if (word.starts_with("0x") || word.starts_with("0o")) {
    const auto value = whole_number<uint64_t>(word.substr(2), word[1] == 'x' ? 16 : 8);
    return value ? Value(*value) : text_value(word);
  }
  const bool is_number =
      std::ranges::any_of(digits, is_digit) && !digits.starts_with('-') &&
      std::ranges::all_of(digits, [](char c) {
        return is_digit(c) || std::string_view("+-.eE").find(c) != std::string_view::npos;
      });
  if (!is_number) return text_value(word);
  if (digits.size() > 1 && digits[0] == '0' && std::ranges::all_of(digits, is_digit)) {
    return Error(Code::invalid_argument,
                 quote(word) + " is ambiguous; write 0o… for octal, or quote it for text");
  }
  return decimal(word, number);
}

}  // namespace atl::json::detail
