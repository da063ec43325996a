#include "core/driver_table.h"

#include <algorithm>

#include "telemetry/log.h"

namespace atl {

DriverTable::DriverTable(std::vector<EngineDriver> drivers, Asking asking) {
  slots_.reserve(drivers.size());
  for (auto& given : drivers) {
    const bool is_late = asking == Asking::when_needed && given.driver->is_somebody_elses();
    slots_.push_back({.driver = std::move(given.driver),
                      .summary = std::move(given.summary),
                      .is_asked = !is_late});
  }
}

Task<> DriverTable::probe_all() {
  for (auto& slot : slots_) {
    if (slot.is_asked) CO_TRY_OK(co_await probe(slot));
  }
  co_return Result<>();
}

bool DriverTable::has_unasked() const {
  return std::ranges::any_of(slots_, [](const DriverSlot& slot) { return !slot.is_asked; });
}

Task<> DriverTable::ask_rest() {
  for (auto& slot : slots_) {
    if (!std::exchange(slot.is_asked, true)) CO_TRY_OK(co_await probe(slot));
  }
  co_return Result<>();
}

Task<> DriverTable::probe_missing() {
  for (auto& slot : slots_) {
    if (slot.is_asked && !slot.capabilities) CO_TRY_OK(co_await probe(slot));
  }
  co_return Result<>();
}

Task<> DriverTable::probe(DriverSlot& slot) {
  auto probed = co_await slot.driver->probe();
  if (probed) {
    if (!slot.capabilities) {
      telemetry::log_debug("driver is available", {{"driver", slot.driver->name()}});
    }
    slot.capabilities = *std::move(probed);
  } else {
    if (slot.capabilities) {
      telemetry::log_warn("driver stopped answering",
                          {{"driver", slot.driver->name()}, {"why", probed.error().message()}});
    }
    slot.capabilities.reset();
    slot.trouble = std::move(probed).error();
  }
  co_return Result<>();
}

DriverSlot* DriverTable::find(std::string_view name) {
  for (auto& slot : slots_) {
    if (slot.driver->name() == name) return &slot;
  }
  return nullptr;
}

Result<DriverSlot*> DriverTable::get_ready(std::string_view name) {
  DriverSlot* slot = find(name);
  if (slot == nullptr) {
    return Error(Code::unavailable, "driver " + std::string(name) + " is not configured any more")
        .with_hint("configure " + std::string(name) + " again, or wait for the sandbox to expire");
  }
  if (!slot->capabilities) {
    return Error(Code::unavailable,
                 "driver " + std::string(name) + " does not answer: " + slot->trouble.message())
        .with_hint(slot->trouble.hint());
  }
  return slot;
}

std::vector<std::string> DriverTable::names() const {
  std::vector<std::string> names;
  names.reserve(slots_.size());
  for (const auto& slot : slots_) names.push_back(slot.name());
  return names;
}

std::vector<DriverView> DriverTable::views() const {
  std::vector<DriverView> views;
  for (const auto& slot : slots_) {
    DriverView view{.name = slot.name(), .summary = slot.summary};
    view.available = slot.capabilities.has_value();
    if (view.available) {
      view.capabilities = *slot.capabilities;
    } else {
      view.unavailable_because = slot.trouble.message();
      view.hint = slot.trouble.hint();
    }
    views.push_back(std::move(view));
  }
  return views;
}

Error DriverTable::lacking(std::string_view driver, std::string_view verb,
                           const std::function<bool(const Capabilities&)>& can) const {
  std::vector<std::string> able;
  for (const auto& slot : slots_) {
    if (slot.capabilities && can(*slot.capabilities)) able.push_back(slot.name());
  }
  return Error(Code::unsupported, std::string(driver) + " cannot " + std::string(verb))
      .with_hint(able.empty() ? "no configured driver can" : enumerate(able) + " can");
}

std::string enumerate(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace atl
