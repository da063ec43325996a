#include "cli/driver_comparison.h"

#include <fmt/core.h>

#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/table.h"

namespace atl::cli {
namespace {

std::string text_of(const json::Value& driver, std::string_view path) {
  return single_line(text_at(driver, path));
}

std::string in_ms(double ms) { return fmt::format("{:.{}f} ms", ms, ms < 10 ? 1 : 0); }

std::string start_of(const json::Value& driver) {
  if (!at(driver, "measured_start_ms").is_null()) {
    return in_ms(number_at(driver, "measured_start_ms")) + " measured";
  }
  const double declared = number_at(driver, "capabilities.typical_start_ms");
  return declared > 0 ? in_ms(declared) + " declared" : "not known";
}

std::string price_of(const json::Value& driver) {
  if (at(driver, "price_per_hour").is_null()) return "not known";
  const double price = number_at(driver, "price_per_hour");
  return price == 0 ? "free" : fmt::format("${:.4g}", price);
}

std::string network_of(const json::Value& driver) {
  const std::string control = text_of(driver, "capabilities.network");
  if (control == "deny") return "cut off";
  return control == "none" ? "the host's" : control;
}

// Files first, then what outlives processes.
std::string kept_by(const json::Value& driver) {
  std::string kept;
  const auto add = [&](std::string_view word) {
    kept += (kept.empty() ? "" : ", ") + std::string(word);
  };
  if (flag_at(driver, "capabilities.writable_root")) add("root");
  if (flag_at(driver, "capabilities.snapshot")) add("snapshots");
  if (flag_at(driver, "capabilities.checkpoint")) add("memory");
  if (flag_at(driver, "capabilities.fork")) add("forks");
  return kept.empty() ? "workspace" : kept;
}

std::string limits_of(const json::Value& driver) {
  std::string held;
  std::string each;
  for (const char* name : {"cpu", "memory", "pids", "disk"}) {
    const std::string support = text_of(driver, std::string("capabilities.limits.") + name);
    std::string* const list = support == "enforced"      ? &held
                              : support == "per_process" ? &each
                                                         : nullptr;
    if (list != nullptr) *list += (list->empty() ? "" : ", ") + std::string(name);
  }
  if (!each.empty()) held += (held.empty() ? "" : "; ") + ("of each process: " + each);
  return held.empty() ? "none" : held;
}

// What a level is good for, in the words of whoever decides.
std::string_view best_for(std::string_view isolation) {
  if (isolation == "none") return "your own code";
  if (isolation == "process") return "code that you trust";
  if (isolation == "container") return "a team's code, agents";
  if (isolation == "sentry") return "code of others";
  return isolation == "vm" ? "code of strangers" : "";
}

}  // namespace

std::string compare_drivers(const json::Array& drivers) {
  Table rows{{"DRIVER", "ISOLATION", "WHERE", "START", "PRICE/H", "NETWORK", "KEEPS", "LIMITS",
              "BEST FOR"}};
  for (const json::Value& driver : drivers) {
    if (!flag_at(driver, "available")) {
      rows.push_back({text_of(driver, "name"), Cell("not available", Ink::dim), "-", "-", "-", "-",
                      "-", "-", "-"});
      continue;
    }
    const std::string isolation = text_of(driver, "capabilities.isolation");
    rows.push_back({text_of(driver, "name"), isolation, text_of(driver, "capabilities.placement"),
                    start_of(driver), price_of(driver), network_of(driver), kept_by(driver),
                    limits_of(driver), std::string(best_for(isolation))});
  }
  return table_for_stdout(rows);
}

}  // namespace atl::cli
