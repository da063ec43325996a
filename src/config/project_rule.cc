#include "config/project_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/secret_name.h"
#include "base/text.h"
#include "config/kinds.h"
#include "config/value.h"

namespace atl::config {
namespace {

std::string_view text_of(const json::Value& value) {
  const auto* text = value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

Error refusal(const Setting& setting, std::string_view why, std::string_view instead) {
  return Error(Code::permission_denied,
               fmt::format("{}: a project file that nobody named may not {}", setting.spelled, why))
      .with_hint(fmt::format("{}or, if you trust the file, name it: --config FILE", instead));
}

std::optional<Error> refuse_driver(const Setting& setting) {
  const std::string_view name = text_of(setting.value);
  const Kind* kind = find_kind(name);
  const std::string instead = fmt::format("say it yourself: --driver {}; ", name);
  if (kind == nullptr) return std::nullopt;
  if (kind->place == Place::third_party) {
    return refusal(setting, fmt::format("send code to {}", name), instead);
  }
  if (level_rank(kind->level) < level_rank("container")) {
    return refusal(setting, fmt::format("choose {}, which isolates less", name), instead);
  }
  return std::nullopt;
}

std::optional<Error> refuse_volumes(const Setting& setting, const std::string& directory) {
  const std::string project = resolve_path(".", directory);
  for (const json::Value& entry : setting.value.get_array()) {
    const auto volume = to_volume(text_of(entry));
    if (!volume) continue;
    const std::string source = resolve_path(volume->source, directory);
    const bool is_inside = (source == project || source.starts_with(project + "/")) &&
                           (source + "/").find("/../") == std::string::npos;
    if (!is_inside) {
      return refusal(setting, "show directories outside of its own", "say it yourself: --volume; ");
    }
    if (volume->mode == "rw") {
      return refusal(setting, "let code write to the host's files",
                     "write SRC:DST:cow, or say it yourself: --volume; ");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string resolve_path(const std::string& path, const std::string& directory) {
  std::string joined = path.starts_with('/') ? path : directory + "/" + path;
  std::error_code trouble;
  std::string resolved = std::filesystem::weakly_canonical(joined, trouble).string();
  if (trouble) return joined;
  while (resolved.size() > 1 && resolved.ends_with('/')) resolved.pop_back();
  return resolved;
}

std::optional<Error> refuse_host_control(const Setting& setting, const std::string& directory) {
  if (setting.key->type != Type::volumes) return std::nullopt;
  for (const json::Value& entry : setting.value.get_array()) {
    const auto volume = to_volume(text_of(entry));
    if (!volume) continue;
    if (!is_host_control(volume->source) &&
        !is_host_control(resolve_path(volume->source, directory))) {
      continue;
    }
    return Error(Code::permission_denied,
                 fmt::format("{}: {} rules the host, and a sandbox that has it is none",
                             setting.spelled,
                             is_secret(setting) ? "this" : to_printable(volume->source)))
        .with_hint("leave it out");
  }
  return std::nullopt;
}

std::optional<Error> refuse_for_project(const Setting& setting, const std::string& directory) {
  if (setting.key->use == Use::nobody) return std::nullopt;  // nothing comes of it
  const auto secret = std::ranges::find_if(
      setting.variables, [](const std::string& name) { return names_a_secret(name); });
  if (secret != setting.variables.end()) {
    return refusal(setting, fmt::format("hand over ${{{}}}", *secret),
                   fmt::format("say it yourself: -e {}; ", *secret));
  }
  if (setting.key->project == Project::may) return std::nullopt;
  if (setting.key->project == Project::may_not) return refusal(setting, "set this", "");
  switch (setting.key->type) {
    case Type::driver:
      return refuse_driver(setting);
    case Type::volumes:
      return refuse_volumes(setting, directory);
    case Type::here:
      if (text_of(setting.value) != "rw") return std::nullopt;
      return refusal(setting, "let code write to the host's files",
                     "write cow, or say it yourself: --here=rw; ");
    default:
      return std::nullopt;
  }
}

}  // namespace atl::config
