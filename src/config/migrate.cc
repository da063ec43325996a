#include "config/migrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "json/encode.h"
#include "json/yaml_scalar.h"

namespace atl::config {
namespace {

struct Comment {
  int line = 0;
  std::string text;  // with its '#'
};

// Where a comment begins in a line, or npos. Marks inside of quotes are none.
size_t comment_at(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      const bool begins =
          i == 0 || std::string_view(" \t[{,:").find(line[i - 1]) != std::string_view::npos;
      if (begins) quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::vector<Comment> comments_of(std::string_view text) {
  std::vector<Comment> comments;
  int number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
      line.pop_back();
    const size_t at = comment_at(line);
    if (at == std::string::npos) continue;
    // A carriage return ends a line, too, and what follows it is no comment.
    comments.push_back({number, line.substr(at, line.find('\r', at) - at)});
  }
  return comments;
}

bool has_variables_in(const json::Value& value) {
  if (const auto* text = value.if_string()) return has_variables({text->data(), text->size()});
  if (const auto* list = value.if_array()) return std::ranges::any_of(*list, has_variables_in);
  if (const auto* map = value.if_object()) {
    return std::ranges::any_of(*map,
                               [](const auto& member) { return has_variables_in(member.value()); });
  }
  return false;
}

// The name under which a number means the same as where it stood.
std::string_view name_for(const Setting& setting) {
  const Key& key = *setting.key;
  if (setting.unit == key.unit) return key.name;
  for (const Spelling& spelling : key.spellings) {
    if (!spelling.name.empty() && spelling.unit == setting.unit) return spelling.name;
  }
  return key.name;
}

class Writer final {
 public:
  Writer(const Settings& settings, std::string_view text) : comments_(comments_of(text)) {
    for (const Setting& setting : settings.all) {
      // What a run mode implies stands nowhere.
      const bool derived = setting.spelled == "run_mode" && setting.path != "run_mode";
      if (!derived) in_order_.push_back(&setting);
    }
    std::ranges::sort(in_order_, {}, [](const Setting* setting) {
      return std::pair(setting->line, setting->column);
    });
    assign_comments();
  }

  std::string write() {
    write_section("", "");
    for (const Section& section : all_sections()) write_section(section.name, "");
    for (const std::string& comment : last_) out_ += comment + "\n";
    return std::move(out_);
  }

 private:
  // A comment belongs to what stands in its line, else to what comes next.
  void assign_comments() {
    for (const Comment& comment : comments_) {
      const auto next = std::ranges::find_if(
          in_order_, [&](const Setting* setting) { return setting->line >= comment.line; });
      if (next == in_order_.end()) {
        last_.push_back(comment.text);
      } else {
        above_[*next].push_back(comment.text);
      }
    }
  }

  std::vector<const Setting*> settings_in(std::string_view path) const {
    std::vector<const Setting*> found;
    for (const Setting* setting : in_order_) {
      const size_t dot = setting->path.rfind('.');
      const std::string_view owner = dot == std::string::npos
                                         ? std::string_view()
                                         : std::string_view(setting->path).substr(0, dot);
      if (owner == path) found.push_back(setting);
    }
    return found;
  }

  bool has_any(std::string_view section) const {
    return std::ranges::any_of(in_order_, [&](const Setting* setting) {
      return setting->path.starts_with(std::string(section) + ".");
    });
  }

  void write_section(std::string_view path, const std::string& indent) {
    if (!path.empty() && !has_any(path)) return;
    std::string inner = indent;
    if (!path.empty()) {
      const size_t dot = path.rfind('.');
      if (indent.empty() && !out_.empty()) out_ += "\n";
      out_ +=
          indent + std::string(dot == std::string_view::npos ? path : path.substr(dot + 1)) + ":\n";
      inner += "  ";
    }
    for (const Setting* setting : settings_in(path)) write_setting(*setting, inner);
    if (path == "sandbox") {
      write_section("sandbox.primary", inner);
      write_section("sandbox.secondary", inner);
    }
  }

  void write_setting(const Setting& setting, const std::string& indent) {
    for (const std::string& comment : above_[&setting]) out_ += indent + comment + "\n";
    const bool keeps = has_variables_in(setting.written);
    const json::Value& value = keeps ? setting.written : setting.value;
    out_ += indent + std::string(keeps ? name_for(setting) : setting.key->name) + ":";
    write_value(value, indent + "  ");
  }

  void write_value(const json::Value& value, const std::string& indent) {
    if (const auto* map = value.if_object()) {
      if (map->empty()) {
        out_ += " {}\n";
        return;
      }
      out_ += "\n";
      for (const auto& member : *map) {
        out_ += indent + to_yaml_scalar(json::Value(member.key())) + ":";
        write_value(member.value(), indent + "  ");
      }
    } else if (const auto* list = value.if_array()) {
      out_ += " [";
      for (size_t i = 0; i < list->size(); ++i) {
        out_ += (i > 0 ? ", " : "") + to_yaml_scalar((*list)[i]);
      }
      out_ += "]\n";
    } else {
      out_ += " " + to_yaml_scalar(value) + "\n";
    }
  }

  std::vector<Comment> comments_;
  std::vector<const Setting*> in_order_;
  std::map<const Setting*, std::vector<std::string>> above_;
  std::vector<std::string> last_;
  std::string out_;
};

bool is_plain(std::string_view text) {
  const bool safe = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/';
  });
  if (!safe) return false;
  const auto read = json::detail::plain_scalar(text);
  return read && read->is_string();
}

}  // namespace

std::string migrate(const Settings& settings, std::string_view text) {
  return Writer(settings, text).write();
}

std::string to_yaml_scalar(const json::Value& value) {
  if (const auto* text = value.if_string()) {
    if (is_plain({text->data(), text->size()})) return {text->data(), text->size()};
  }
  return json::encode(value);
}

}  // namespace atl::config
