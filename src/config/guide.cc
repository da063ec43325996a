#include "config/guide.h"

#include <fmt/core.h>

#include "config/keys.h"
#include "config/kinds.h"

namespace atl::config {
namespace {

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

std::string_view project_word(Project project) {
  switch (project) {
    case Project::may:
      return "yes";
    case Project::may_narrow:
      return "within limits";
    case Project::may_not:
      return "no";
  }
  return "";
}

void add_settings(std::string& out, std::string_view section) {
  out += "| setting | what it is | default | flag | variable | a found file may |\n";
  out += "|---|---|---|---|---|---|\n";
  for (const Key& key : all_keys()) {
    if (key.section != section) continue;
    const std::string flag = key.flag.empty() ? "" : fmt::format("`--{}`", key.flag);
    const bool used = key.use != Use::nobody;
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.name, key.help, key.usual, flag,
                       code(key.variable), used ? project_word(key.project) : "no effect yet");
  }
  out += "\n";
}

std::string_view meaning(const Key& key, Unit unit) {
  switch (unit) {
    case Unit::mebibytes:
      return "a number counts MiB";
    case Unit::gibibytes:
      return "a number counts GiB";
    case Unit::seconds:
      return "a number counts seconds";
    case Unit::milliseconds:
      return "a number counts milliseconds";
    case Unit::shares:
      return "from 128 on a number counts 1/1024 processors: `1024` is 1";
    case Unit::usual:
      return key.type == Type::processors ? "a number counts processors" : "";
  }
  return "";
}

void add_spellings(std::string& out) {
  out += "| spelling | is | |\n|---|---|---|\n";
  for (const Section& section : all_sections()) {
    if (!section.alias.empty()) {
      out += fmt::format("| `{}` | `{}` | a section; its `timeout` counts milliseconds |\n",
                         section.alias, section.name);
    }
  }
  out += "| `resources` | the section around it | its settings may stand below it or beside it |\n";
  for (const Key& key : all_keys()) {
    for (const Spelling& spelling : key.spellings) {
      if (spelling.name.empty()) continue;
      const Unit unit = spelling.unit == Unit::usual ? key.unit : spelling.unit;
      out += fmt::format("| `{}.{}` | `{}` | {} |\n", key.section, spelling.name, path_of(key),
                         meaning(key, unit));
    }
  }
  out += "\n";
}

std::string amount(const Maxima& most) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
  if (most.memory_mb) add(fmt::format("{} MiB memory", *most.memory_mb));
  if (most.cpus) add(fmt::format("{} processors", *most.cpus));
  if (most.disk_mb) add(fmt::format("{} MiB disk", *most.disk_mb));
  if (most.timeout_s) add(fmt::format("{} s", *most.timeout_s));
  return text;
}

void add_kinds(std::string& out) {
  out += "| kind | other names | isolation | at most |\n|---|---|---|---|\n";
  for (const Kind& kind : all_kinds()) {
    std::string aliases;
    for (const std::string_view alias : kind.aliases) {
      if (!alias.empty()) aliases += (aliases.empty() ? "" : ", ") + code(alias);
    }
    const std::string_view level = kind.place == Place::third_party
                                       ? std::string_view("somebody else's machines")
                                       : kind.level;
    out += fmt::format("| `{}` | {} | {} | {} |\n", kind.name, aliases, level, amount(kind.most));
  }
  out += "\n";
}

}  // namespace

std::string guide_tables() {
  std::string out = "### At the top\n\n";
  add_settings(out, "");
  for (const Section& section : all_sections()) {
    out += fmt::format("### `{}`: {}\n\n", section.name, section.help);
    add_settings(out, section.name);
  }
  out += "### Other spellings\n\n";
  add_spellings(out);
  out += "### Kinds of sandboxes\n\n";
  add_kinds(out);
  return out;
}

std::string with_tables(std::string_view document) {
  const size_t begin = document.find(kGuideBegin);
  const size_t end = document.find(kGuideEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::string(document);
  }
  return std::string(document.substr(0, begin + kGuideBegin.size())) + "\n\n" + guide_tables() +
         std::string(document.substr(end));
}

}  // namespace atl::config
