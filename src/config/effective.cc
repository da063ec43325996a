#include "config/effective.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/secret_name.h"
#include "config/kinds.h"
#include "config/project_rule.h"
#include "config/run_modes.h"
#include "config/value.h"
#include "json/encode.h"

namespace atl::config {
namespace {

constexpr std::string_view kHidden = "(secret)";

std::string_view text_of(const json::Value& value) {
  const auto* text = value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

// Paths of a file begin where the file is.
json::Value with_places(const Setting& setting, const std::string& directory) {
  if (setting.key->type == Type::path) {
    const std::string path(text_of(setting.value));
    return path.starts_with('/') ? setting.value : json::Value(directory + path);
  }
  if (setting.key->type != Type::volumes) return setting.value;
  json::Array volumes;
  for (const json::Value& entry : setting.value.get_array()) {
    const auto volume = to_volume(text_of(entry));
    if (!volume) continue;
    std::string text = resolve_path(volume->source, directory);
    text += ":" + (volume->target.empty() ? text : volume->target) + ":" + volume->mode;
    volumes.emplace_back(std::move(text));
  }
  return json::Value(std::move(volumes));
}

Entry to_entry(const Setting& setting, const Layer& layer) {
  Entry entry{.path = setting.path,
              .key = setting.key,
              .value = with_places(setting, layer.directory),
              .from = layer.from,
              .where = fmt::format("{}:{}", layer.settings.file, setting.line),
              .is_secret = is_secret(setting)};
  entry.refused = refuse_host_control(setting, layer.directory);
  if (!entry.refused && layer.from == From::project) {
    entry.refused = refuse_for_project(setting, layer.directory);
  }
  return entry;
}

// The least that a sandbox of this driver or run mode can have.
std::string_view weakest_of(const Entry& entry) {
  const auto mode = find_run_mode(text_of(entry.value));
  if (!mode) return "";
  // A driver is meant alone.
  return entry.key->type == Type::driver ? find_kind(mode->name)->level : weakest_level(*mode);
}

// A run mode of a project file that was found must not weaken what the user's own file says.
void refuse_weaker_mode(Entry& project, const Entry& own) {
  if (project.refused || level_rank(weakest_of(project)) >= level_rank(weakest_of(own))) return;
  project.refused =
      Error(Code::permission_denied,
            fmt::format("the project file asks for the run mode {}, which may isolate less than {} "
                        "of {}",
                        text_of(project.value), text_of(own.value), own.where))
          .with_hint(fmt::format("say which: --run-mode {}, or --run-mode {}",
                                 text_of(project.value), text_of(own.value)));
}

// The same where the user's file names a driver.
void keep_driver(Effective& effective) {
  Entry* mode = effective.find("run_mode");
  const Entry* driver = effective.find("sandbox.driver");
  if (mode == nullptr || driver == nullptr) return;
  if (mode->from == From::project && driver->from > From::project)
    refuse_weaker_mode(*mode, *driver);
}

class Merger final {
 public:
  explicit Merger(Effective& effective) : effective_(effective) {}

  void add(const Entry& entry) {
    const json::Object* map =
        entry.key->type == Type::variables ? entry.value.if_object() : nullptr;
    if (map == nullptr) return add_one(entry);
    for (const auto& member : *map) {
      const std::string_view name(member.key().data(), member.key().size());
      Entry one = entry;
      one.path += "." + std::string(name);
      one.name = name;
      one.value = member.value();
      one.is_secret = one.is_secret || names_a_secret(name);
      add_one(one);
    }
  }

 private:
  void add_one(const Entry& entry) {
    Entry* stronger = effective_.find(entry.path);
    if (stronger == nullptr) {
      effective_.entries.push_back(entry);
    } else if (stronger->from == From::project) {
      keep_isolation(*stronger, entry);
    }
  }

  // What a project file says must not weaken what the user's own file says.
  static void keep_isolation(Entry& project, const Entry& own) {
    if (project.key->type == Type::run_mode) refuse_weaker_mode(project, own);
    if (project.key->type == Type::isolation &&
        level_rank(text_of(own.value)) > level_rank(text_of(project.value))) {
      project = own;
    }
    if (project.key->type != Type::driver || project.refused) return;
    const Kind* asked = find_kind(text_of(project.value));
    const Kind* usual = find_kind(text_of(own.value));
    if (asked == nullptr || usual == nullptr) return;
    if (level_rank(asked->level) < level_rank(usual->level)) {
      project.refused =
          Error(Code::permission_denied,
                fmt::format("the project file asks for {}, which isolates less than {} of {}",
                            asked->name, usual->name, own.where))
              .with_hint(
                  fmt::format("say which: --driver {}, or --driver {}", asked->name, usual->name));
    }
  }

  Effective& effective_;
};

void add_environment(Effective& effective, const Environment& environment) {
  for (const Key& key : all_keys()) {
    if (key.variable.empty()) continue;
    const auto text = environment(key.variable);
    if (!text || text->empty()) continue;
    auto value = to_canonical(key, *text);
    if (!value) {
      effective.findings.push_back({.file = std::string(key.variable),
                                    .key = path_of(key),
                                    .message = value.error().message(),
                                    .hint = value.error().hint()});
      continue;
    }
    effective.entries.push_back({.path = path_of(key),
                                 .key = &key,
                                 .value = std::move(*value),
                                 .from = From::variable,
                                 .where = std::string(key.variable)});
  }
}

}  // namespace

const Entry* Effective::find(std::string_view path) const {
  const auto found = std::ranges::find(entries, path, &Entry::path);
  return found == entries.end() ? nullptr : &*found;
}

Entry* Effective::find(std::string_view path) {
  const auto found = std::ranges::find(entries, path, &Entry::path);
  return found == entries.end() ? nullptr : &*found;
}

bool Effective::is_outdone(const Entry& entry) const {
  if (entry.path == "run_mode") {
    const Entry* driver = find("sandbox.driver");
    return driver != nullptr && driver->from <= entry.from;
  }
  if (entry.path != "sandbox.driver") return false;
  const Entry* mode = find("run_mode");
  return mode != nullptr && mode->from < entry.from;
}

Effective merge(std::span<const Layer> layers, const Environment& environment) {
  Effective effective;
  add_environment(effective, environment);
  Merger merger(effective);
  for (const Layer& layer : layers) {
    for (const Setting& setting : layer.settings.all) merger.add(to_entry(setting, layer));
  }
  keep_driver(effective);
  // In the order of the table, whatever the order of the files.
  std::ranges::sort(effective.entries, {},
                    [](const Entry& entry) { return std::pair(entry.key, entry.path); });
  return effective;
}

std::vector<FlagValue> to_flags(const Entry& entry) {
  const std::string flag(entry.key->flag);
  const std::string path = path_of(*entry.key);
  // Settings of a secondary sandbox are nobody's flags.
  if (flag.empty() || !entry.path.starts_with(path)) return {};
  if (!entry.name.empty()) return {{flag, entry.name + "=" + to_flag_text(entry.value)}};
  if (entry.key->type == Type::flag) {
    const bool is_set = entry.value.is_bool() && entry.value.get_bool();
    return is_set ? std::vector<FlagValue>{{flag, ""}} : std::vector<FlagValue>{};
  }
  if (const auto* list = entry.value.if_array()) {
    std::vector<FlagValue> flags;
    for (const json::Value& value : *list) flags.push_back({flag, to_flag_text(value)});
    return flags;
  }
  return {{flag, to_flag_text(entry.value)}};
}

std::string to_shown(const Entry& entry) {
  if (entry.is_secret) return std::string(kHidden);
  if (entry.value.is_string()) return std::string(text_of(entry.value));
  return json::encode(entry.value);
}

}  // namespace atl::config
