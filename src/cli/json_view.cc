#include "cli/json_view.h"

#include "json/write.h"

namespace atl::cli {
namespace {

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

std::string to_pretty(const json::Value& value) {
  std::string out;
  write_pretty(out, value, 0);
  return out + "\n";
}

}  // namespace atl::cli
