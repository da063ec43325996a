#include "client/answer.h"

#include "base/text.h"

namespace atl::client {
namespace {

constexpr size_t kLargestAnswer = 64 * 1024 * 1024;
constexpr double kLargestCount = 9.0e15;  // beyond, a double has holes

}  // namespace

const json::Value& at(const json::Value& value, std::string_view path) {
  static const json::Value kNothing;
  const json::Value* here = &value;
  for (;;) {
    const size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    const json::Object* object = here->if_object();
    here = object != nullptr ? object->if_contains({name.data(), name.size()}) : nullptr;
    if (here == nullptr) return kNothing;
    if (dot == std::string_view::npos) return *here;
    path.remove_prefix(dot + 1);
  }
}

std::string text_at(const json::Value& value, std::string_view path) {
  const auto* text = at(value, path).if_string();
  return text != nullptr ? std::string(text->data(), text->size()) : "";
}

double number_at(const json::Value& value, std::string_view path) {
  const json::Value& found = at(value, path);
  if (const auto* number = found.if_double()) return *number;
  if (const auto* number = found.if_int64()) return static_cast<double>(*number);
  if (const auto* number = found.if_uint64()) return static_cast<double>(*number);
  return 0;
}

uint64_t count_at(const json::Value& value, std::string_view path) {
  const double number = number_at(value, path);
  return number > 0 && number < kLargestCount ? static_cast<uint64_t>(number) : 0;
}

bool flag_at(const json::Value& value, std::string_view path) {
  const bool* flag = at(value, path).if_bool();
  return flag != nullptr && *flag;
}

const json::Array& list_at(const json::Value& value, std::string_view path) {
  static const json::Array kEmpty;
  const json::Array* array = at(value, path).if_array();
  return array != nullptr ? *array : kEmpty;
}

Result<std::string> bytes_at(const json::Value& value, const std::string& name) {
  const std::string encoded = text_at(value, name + "_b64");
  if (encoded.empty()) return text_at(value, name);
  return from_base64(encoded);
}

Result<json::Value> parse_answer(std::string_view text) {
  auto value = json::parse(text, {.max_bytes = kLargestAnswer});
  if (!value)
    return Error(Code::internal, "the daemon's answer is no JSON: " + value.error().message());
  return value;
}

}  // namespace atl::client
