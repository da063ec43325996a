#include "cli/json_view.h"

#include "json/write.h"

namespace atl::cli {
namespace {

constexpr size_t kLargestAnswer = 64 * 1024 * 1024;

void indent(std::string& out, size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

void write_pretty(std::string& out, const json::Value& value, size_t depth) {
  const json::Object* object = value.if_object();
  const json::Array* array = value.if_array();
  const bool empty = (object != nullptr && object->empty()) || (array != nullptr && array->empty());
  if (empty || (object == nullptr && array == nullptr)) return json::write_value(out, value);

  out += object != nullptr ? '{' : '[';
  bool first = true;
  const auto next = [&] {
    if (!first) out += ',';
    first = false;
    indent(out, depth + 1);
  };
  if (object != nullptr) {
    for (const auto& member : *object) {
      next();
      json::write_string(out, {member.key().data(), member.key().size()});
      out += ": ";
      write_pretty(out, member.value(), depth + 1);
    }
  } else {
    for (const json::Value& element : *array) {
      next();
      write_pretty(out, element, depth + 1);
    }
  }
  indent(out, depth);
  out += object != nullptr ? '}' : ']';
}

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

bool flag_at(const json::Value& value, std::string_view path) {
  const bool* flag = at(value, path).if_bool();
  return flag != nullptr && *flag;
}

const json::Array& list_at(const json::Value& value, std::string_view path) {
  static const json::Array kEmpty;
  const json::Array* array = at(value, path).if_array();
  return array != nullptr ? *array : kEmpty;
}

Result<json::Value> parse_answer(std::string_view text) {
  auto value = json::parse(text, {.max_bytes = kLargestAnswer});
  if (!value)
    return Error(Code::internal, "the daemon's answer is no JSON: " + value.error().message());
  return value;
}

std::string to_pretty(const json::Value& value) {
  std::string out;
  write_pretty(out, value, 0);
  return out + "\n";
}

}  // namespace atl::cli
