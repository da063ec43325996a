#include "config/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/secret_name.h"
#include "base/text.h"
#include "config/kinds.h"
#include "config/run_modes.h"
#include "config/value.h"
#include "json/yaml.h"

namespace atl::config {
namespace {

// All texts of a file together, after expansion.
constexpr size_t kMostExpanded = size_t{4} << 20;

using Line = json::Document::Line;

std::string_view view(boost::json::string_view text) { return {text.data(), text.size()}; }

// Where the walk stands: the section whose keys fit here, and how the way to it is spelled.
struct Place {
  std::string section;  // for find_key: "sandbox", "defaults", …
  std::string path;     // canonical: "sandbox.secondary"
  std::string spelled;
  bool is_group = false;  // inside of `resources`
};

std::string join(std::string_view before, std::string_view name) {
  return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
}

class Reader final {
 public:
  Reader(Settings& settings, const Environment& environment)
      : settings_(settings), environment_(environment) {}

  void walk(const Place& place, const json::Object& object, const Line& lines) {
    size_t index = 0;
    for (const auto& member : object) {
      const Line& line = lines.children[index++];
      const std::string_view name = view(member.key());
      const std::string spelled = place.spelled + json::step_to_string(name, place.spelled);
      if (!enter(place, name, spelled, member.value(), line)) {
        take(place, name, spelled, member.value(), line);
      }
    }
  }

 private:
  void add(const Line& line, std::string_view key, Severity severity, Problem problem,
           std::string message, std::string hint = "") {
    settings_.findings.push_back({severity, problem, settings_.file, line.number, line.column,
                                  std::string(key), std::move(message), std::move(hint)});
  }

  // Whether the name is a section; then it has been walked through.
  bool enter(const Place& place, std::string_view name, const std::string& spelled,
             const json::Value& value, const Line& line) {
    const std::string snake = to_snake_case(name);
    Place inner{place.section, place.path, spelled, place.is_group};
    const bool top = place.path.empty();
    if (top) {
      const Section* section = find_section(name);
      if (section == nullptr) return false;
      inner.section = snake;
      inner.path = section->name;
    } else if (place.path == "sandbox" && (snake == "primary" || snake == "secondary")) {
      inner.path = join(place.path, snake);
    } else if (snake == "resources" && !place.is_group && find_key(place.section, "memory").key) {
      inner.is_group = true;
    } else {
      return false;
    }
    if (const auto* object = value.if_object()) {
      walk(inner, *object, line);
    } else if (!value.is_null()) {
      add(line, spelled, Severity::error, Problem::bad_value, "it holds settings, one per line",
          fmt::format("write {}: and below it, indented, NAME: value", to_printable(name)));
    }
    return true;
  }

  void take(const Place& place, std::string_view name, const std::string& spelled,
            const json::Value& value, const Line& line) {
    const Match match = find_key(place.section, name);
    if (match.key == nullptr) return unknown(place, name, spelled, line);
    Setting setting{.path = join(place.path, match.key->name),
                    .key = match.key,
                    .spelled = spelled,
                    .written = value,
                    .unit = match.unit,
                    .line = line.number,
                    .column = line.column};
    if (const Setting* other = settings_.find(setting.path)) {
      return add(line, spelled, Severity::error, Problem::bad_value,
                 fmt::format("the same as {} in line {}", other->spelled, other->line),
                 "leave one of them out");
    }
    json::Value expanded = value;
    // Profiles are read once more, as they are, by whoever knows them.
    const bool is_kept = match.key->type == Type::profiles && value.is_object();
    if (!is_kept && !expand_all(expanded, setting, line)) return;
    auto canonical = to_canonical(*match.key, match.unit, expanded);
    if (!canonical) {
      const auto problem =
          canonical.error().code() == Code::unsupported ? Problem::not_built : Problem::bad_value;
      // Messages quote what is wrong, and this must not be quoted.
      if (is_secret(setting)) {
        return add(line, spelled, Severity::error, problem, "the value does not fit here");
      }
      return add(line, spelled, Severity::error, problem, canonical.error().message(),
                 canonical.error().hint());
    }
    setting.value = std::move(*canonical);
    tell_other_meaning(name, setting, expanded, line);
    settings_.all.push_back(std::move(setting));
  }

  // `type: native` comes from files in which native is what happens without any sandbox.
  void tell_other_meaning(std::string_view name, Setting& setting, const json::Value& expanded,
                          const Line& line) {
    const bool is_type = setting.key->type == Type::driver && to_snake_case(name) == "type";
    if (!is_type || !expanded.is_string() || view(expanded.get_string()) != "native") return;
    setting.value = "local";
    add(line, setting.spelled, Severity::warning, Problem::other_spelling,
        "native under `type` means no isolation, which is the driver local",
        "for Atoll's own sandbox write driver: native");
  }

  void unknown(const Place& place, std::string_view name, const std::string& spelled,
               const Line& line) {
    std::vector<std::string> known = names_in(place.section);
    if (place.path == "sandbox") known.insert(known.end(), {"primary", "secondary", "resources"});
    const std::string near = did_you_mean(to_snake_case(name), known);
    add(line, spelled, Severity::error, Problem::unknown_key, "no such setting",
        near.empty() ? "docs/configuration.md lists them" : "did you mean " + near + "?");
  }

  bool expand_all(json::Value& value, Setting& setting, const Line& line) {
    if (auto* text = value.if_string()) {
      if (!has_variables(view(*text))) return true;
      auto expanded = expand(view(*text), environment_);
      if (expanded) expanded_bytes_ += expanded->text.size();
      if (expanded && expanded_bytes_ > kMostExpanded) {
        expanded = Error(Code::too_large, "the texts of this file, with variables, are too long");
      }
      if (!expanded) {
        add(line, setting.spelled, Severity::error, Problem::variable, expanded.error().message(),
            expanded.error().hint());
        return false;
      }
      *text = boost::json::string_view(expanded->text.data(), expanded->text.size());
      for (auto& name : expanded->variables) setting.variables.push_back(std::move(name));
      return true;
    }
    size_t index = 0;
    if (auto* list = value.if_array()) {
      for (auto& entry : *list) {
        if (!expand_all(entry, setting, line.children[index++])) return false;
      }
    } else if (auto* map = value.if_object()) {
      for (auto& member : *map) {
        if (!expand_all(member.value(), setting, line.children[index++])) return false;
      }
    }
    return true;
  }

  Settings& settings_;
  const Environment& environment_;
  size_t expanded_bytes_ = 0;
};

// "atoll.yaml:7: why" becomes a finding in line 7.
Finding to_finding(const Error& error, std::string_view file) {
  Finding finding{.problem = Problem::malformed, .file = std::string(file)};
  std::string_view message = error.message();
  if (message.starts_with(file)) message.remove_prefix(file.size());
  if (message.starts_with(':')) message.remove_prefix(1);
  int line = 0;
  const auto [end, trouble] =
      std::from_chars(message.data(), message.data() + message.size(), line);
  if (trouble == std::errc() && line > 0) {
    finding.line = line;
    finding.column = 1;
    message.remove_prefix(static_cast<size_t>(end - message.data()));
    if (message.starts_with(':')) message.remove_prefix(1);
  }
  if (message.starts_with(' ')) message.remove_prefix(1);
  finding.message = message;
  finding.hint = error.hint();
  return finding;
}

// A run mode of one driver says which, where none is named.
void derive_driver(Settings& settings) {
  const Setting* mode = settings.find("run_mode");
  if (mode == nullptr || settings.find("sandbox.driver") != nullptr) return;
  const auto route = find_run_mode(view(mode->value.get_string()));
  if (!route || route->drivers.size() != 1) return;
  Setting driver = *mode;
  driver.path = "sandbox.driver";
  driver.key = key_at("sandbox.driver");
  settings.all.push_back(std::move(driver));
}

}  // namespace

const Setting* Settings::find(std::string_view path) const {
  const auto found = std::ranges::find(all, path, &Setting::path);
  return found == all.end() ? nullptr : &*found;
}

Settings read_settings(std::string_view text, std::string_view file,
                       const Environment& environment) {
  Settings settings{.file = std::string(file)};
  const auto document = json::parse_yaml(text, file, {.max_bytes = kLargestFile, .max_depth = 16});
  if (!document) {
    settings.findings.push_back(to_finding(document.error(), file));
    return settings;
  }
  const auto* object = document->value().if_object();
  if (object == nullptr) {
    settings.findings.push_back({.problem = Problem::malformed,
                                 .file = std::string(file),
                                 .line = 1,
                                 .column = 1,
                                 .message = "the file is no map of NAME: value"});
    return settings;
  }
  Reader(settings, environment).walk({}, *object, document->lines());
  derive_driver(settings);
  return settings;
}

bool is_secret(const Setting& setting) {
  if (setting.key->type == Type::secret || names_a_secret(setting.key->name)) return true;
  return std::ranges::any_of(setting.variables,
                             [](const std::string& name) { return names_a_secret(name); });
}

}  // namespace atl::config
