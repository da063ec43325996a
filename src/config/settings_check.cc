// What only several settings together, or the drivers that are there, can tell.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "config/kinds.h"
#include "config/run_modes.h"
#include "config/settings.h"
#include "config/value.h"

namespace atl::config {
namespace {

std::string_view text_of(const Setting& setting) {
  const auto* text = setting.value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

class Checker final {
 public:
  Checker(Settings& settings, std::span<const std::string> built)
      : settings_(settings), built_(built) {}

  void check() {
    check_route();
    for (const std::string_view group : {"sandbox", "sandbox.primary", "sandbox.secondary"}) {
      check_group(std::string(group));
    }
    check_providers();
    check_volumes();
    check_effects();
    std::ranges::sort(settings_.findings, {}, [](const Finding& finding) {
      return std::tuple(finding.line, finding.column, finding.message);
    });
  }

 private:
  void add(const Setting& about, Severity severity, Problem problem, std::string message,
           std::string hint = "") {
    if (is_secret(about)) message = "it does not fit here; its value is not shown";
    settings_.findings.push_back({severity, problem, settings_.file, about.line, about.column,
                                  about.spelled, std::move(message), std::move(hint)});
  }

  bool is_built(std::string_view driver) const {
    return std::ranges::find(built_, driver) != built_.end();
  }

  void refuse_unbuilt(const Setting& about, std::string_view driver) {
    if (is_built(driver)) return;
    std::string have;
    for (const std::string& name : built_) have += (have.empty() ? "" : ", ") + name;
    add(about, Severity::error, Problem::not_built,
        fmt::format("the driver {} is not built yet", driver), "this Atoll has: " + have);
  }

  // What run_mode and the drivers say about each other.
  void check_route() {
    const Setting* mode = settings_.find("run_mode");
    const Setting* driver = settings_.find("sandbox.driver");
    const Setting* primary = settings_.find("sandbox.primary.driver");
    const Setting* secondary = settings_.find("sandbox.secondary.driver");
    if (mode != nullptr && is_hybrid(text_of(*mode))) {
      if (primary == nullptr || secondary == nullptr) {
        add(*mode, Severity::error, Problem::bad_value,
            "a hybrid needs sandbox.primary and sandbox.secondary, each with its type");
      }
      add(*mode, Severity::error, Problem::not_built,
          fmt::format("the run mode {} is not built yet: work is not divided between two drivers",
                      text_of(*mode)),
          "name one way: run_mode: docker, or native");
    } else if (const Setting* stray = primary != nullptr ? primary : secondary) {
      add(*stray, Severity::error, Problem::bad_value,
          "a primary and a secondary sandbox belong to a hybrid run mode",
          "write run_mode: hybrid, or put these settings into sandbox itself");
    }
    for (const Setting* part : {primary, secondary}) {
      if (part != nullptr) refuse_unbuilt(*part, text_of(*part));
    }
    if (driver == nullptr) return check_mode(mode);
    const bool derived = mode != nullptr && driver->spelled == mode->spelled;
    if (mode != nullptr && !derived && !agree(text_of(*mode), text_of(*driver))) {
      add(*driver, Severity::error, Problem::bad_value,
          fmt::format("run_mode says {}, and this says {}", text_of(*mode), text_of(*driver)),
          "leave one of them out");
    }
    // The mode is what people know; a browser runs WebAssembly without being our driver for it.
    const bool in_browser = mode != nullptr && text_of(*mode) == "browser";
    refuse_unbuilt(in_browser ? *mode : *driver, in_browser ? "browser" : text_of(*driver));
  }

  // A route of several drivers is one as long as one of them is there.
  void check_mode(const Setting* setting) {
    const auto mode = setting == nullptr ? std::nullopt : find_run_mode(text_of(*setting));
    if (!mode || mode->drivers.empty()) return;
    std::string there;
    for (const std::string& driver : mode->drivers) {
      if (is_built(driver)) there += (there.empty() ? "" : ", ") + driver;
    }
    if (there.empty()) return refuse_unbuilt(*setting, mode->name);
    if (!is_built(mode->name)) {
      add(*setting, Severity::warning, Problem::not_built,
          fmt::format("the driver {} is not built yet, so its sandboxes are made by {}", mode->name,
                      there),
          "say what they must at least have: min_isolation");
    }
    const Setting* floor = settings_.find("sandbox.min_isolation");
    const std::string_view best = strongest_level(*mode);
    if (floor != nullptr && level_rank(best) < level_rank(text_of(*floor))) {
      add(*floor, Severity::error, Problem::bad_value,
          fmt::format("the run mode {} offers at most {}, {} is asked", mode->name, best,
                      text_of(*floor)));
    }
  }

  static bool agree(std::string_view mode, std::string_view driver) {
    if (mode == "auto") return true;
    return mode == driver || is_hybrid(mode) || (mode == "browser" && driver == "wasm");
  }

  void check_group(const std::string& group) {
    const Setting* driver = settings_.find(group + ".driver");
    if (driver == nullptr) return;
    const Kind* kind = find_kind(text_of(*driver));
    if (kind == nullptr) return;
    check_most(group, "memory", *kind, kind->most.memory_mb, "MiB of memory");
    check_most(group, "cpus", *kind, kind->most.cpus, "processors");
    check_most(group, "disk", *kind, kind->most.disk_mb, "MiB of disk");
    check_most(group, "timeout", *kind, kind->most.timeout_s, "seconds");
    const Setting* network = settings_.find(group + ".network");
    if (network != nullptr && kind->name == "local") {
      add(*network, Severity::error, Problem::bad_value,
          "the driver local cannot cut off the network",
          "leave the network out, or take a driver that can: native, rootless");
    }
    const Setting* floor = settings_.find(group + ".min_isolation");
    if (floor != nullptr && !kind->level.empty() &&
        level_rank(kind->level) < level_rank(text_of(*floor))) {
      add(*floor, Severity::error, Problem::bad_value,
          fmt::format("the driver {} offers {}, {} is asked", kind->name, kind->level,
                      text_of(*floor)));
    }
  }

  template <typename Number>
  void check_most(const std::string& group, std::string_view name, const Kind& kind,
                  const std::optional<Number>& most, std::string_view unit) {
    const Setting* setting = settings_.find(fmt::format("{}.{}", group, name));
    if (setting == nullptr || !most) return;
    const double asked = magnitude(*setting->key, setting->value);
    if (asked <= static_cast<double>(*most)) return;
    add(*setting, Severity::error, Problem::over_maximum,
        fmt::format("{} offers at most {} {}, {} is asked", kind.name, *most, unit, asked));
  }

  void check_providers() {
    for (const std::string_view section : {"webcontainer", "e2b"}) {
      const Setting* enabled = settings_.find(fmt::format("{}.enabled", section));
      if (enabled == nullptr || !enabled->value.is_bool() || !enabled->value.get_bool()) continue;
      if (is_built(section)) continue;
      add(*enabled, Severity::warning, Problem::not_built,
          fmt::format("the driver {} is not built yet, so nothing is placed there", section));
    }
  }

  void check_volumes() {
    for (const Setting& setting : std::vector<Setting>(settings_.all)) {
      if (setting.key->type != Type::volumes) continue;
      for (const json::Value& entry : setting.value.get_array()) {
        const auto& text = entry.get_string();
        const auto volume = to_volume({text.data(), text.size()});
        if (!volume || !is_host_control(volume->source)) continue;
        add(setting, Severity::warning, Problem::host_control,
            fmt::format("{} rules the host: whoever has it is root there", volume->source),
            "such a sandbox is refused when it is to be made; leave it out");
      }
    }
  }

  void check_effects() {
    const Setting* driver = settings_.find("sandbox.driver");
    const Setting* mode = settings_.find("run_mode");
    const bool hybrid = mode != nullptr && is_hybrid(text_of(*mode));
    // A driver that is not built is told already, and says more.
    if (hybrid || (driver != nullptr && !is_built(text_of(*driver)))) return;
    for (const Setting& setting : std::vector<Setting>(settings_.all)) {
      if (setting.key->use != Use::nobody || setting.key->section != "sandbox") continue;
      add(setting, Severity::warning, Problem::no_effect,
          "it is understood, and no driver of this Atoll uses it");
    }
    for (const Setting& setting : std::vector<Setting>(settings_.all)) {
      const std::string_view section = setting.key->section;
      if (section != "pool" && section != "storage" && section != "auto_scaling") continue;
      add(setting, Severity::warning, Problem::no_effect,
          section == "pool" ? "it is understood, and no pool is made of it"
                            : "it is understood, and no driver of this Atoll uses it",
          section == "pool" ? "a daemon keeps pools of what is asked for: atoll pool create --max "
                              "N --idle TIME POOL, or pool: in a profile (docs/pools.md)"
                            : "");
    }
  }

  Settings& settings_;
  std::span<const std::string> built_;
};

}  // namespace

void check_settings(Settings& settings, std::span<const std::string> built_drivers) {
  Checker(settings, built_drivers).check();
}

}  // namespace atl::config
