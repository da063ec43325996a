#include "core/driver_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/refusal.h"
#include "driver/memory_refusal.h"
#include "telemetry/log.h"

namespace atl {
namespace {

// ": it takes …"; "" = it does not say.
std::string why_no_memory(const Capabilities& can) {
  for (const auto& sentence : can.not_protected) {
    if (sentence.starts_with(kMemoryNotKept)) return ": " + sentence.substr(kMemoryNotKept.size());
  }
  return "";
}

}  // namespace

DriverTable::DriverTable(std::vector<EngineDriver> drivers, Asking asking,
                         const RoutingOptions& routing, const Clock& clock,
                         const policy::Amounts& assumed)
    : assumed_(assumed) {
  slots_.reserve(drivers.size());
  for (auto& given : drivers) {
    const bool is_late = asking == Asking::when_needed && given.driver->is_somebody_elses();
    const std::string name(given.driver->name());
    const auto weight = routing.weights.find(name);
    const auto price = routing.prices.find(name);
    const auto labels = routing.labels.find(name);
    const auto capacity = routing.capacities.find(name);
    slots_.push_back(
        {.driver = std::move(given.driver),
         .summary = std::move(given.summary),
         .is_asked = !is_late,
         .has_runtimes = !is_late,
         .health = DriverHealth(routing.health),
         .circuit = CircuitBreaker(clock, routing.circuit),
         .start = StartEstimate(clock),
         .weight = weight == routing.weights.end() ? 1 : weight->second,
         .price = price == routing.prices.end() ? std::nullopt : std::optional(price->second),
         .labels = labels == routing.labels.end() ? policy::DriverLabels() : labels->second,
         .capacity = capacity == routing.capacities.end() ? policy::Quota() : capacity->second});
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
    if (slot.is_asked) continue;
    CO_TRY_OK(co_await probe(slot));
    // Not before: another request that comes meanwhile asks, too, instead of being refused.
    slot.is_asked = true;
  }
  co_return Result<>();
}

Task<> DriverTable::ask_for_runtimes() {
  for (auto& slot : slots_) {
    if (slot.has_runtimes || !slot.capabilities) continue;
    auto probed = co_await slot.driver->probe_with_runtimes();
    note_probe(slot, std::move(probed));
    slot.has_runtimes = slot.capabilities.has_value();
  }
  co_return Result<>();
}

Task<> DriverTable::probe(DriverSlot& slot) {
  auto probed = co_await slot.look();
  note_probe(slot, std::move(probed));
  co_return Result<>();
}

void DriverTable::note_probe(DriverSlot& slot, Result<Capabilities> probed) {
  const DriverCondition before = slot.health.state();
  if (probed) {
    if (!slot.capabilities) {
      telemetry::log_debug("driver is available", {{"driver", slot.driver->name()}});
    }
    slot.health.answered();
    if (before == DriverCondition::down) slot.circuit.end_pause();
    slot.capabilities = *std::move(probed);
    slot.was_ready = true;
  } else {
    slot.health.failed();
    slot.trouble = std::move(probed).error();
    if (slot.capabilities && !slot.health.is_trusted()) {
      telemetry::log_warn("driver stopped answering",
                          {{"driver", slot.driver->name()}, {"why", slot.trouble.message()}});
      slot.capabilities.reset();
    }
  }
  if (on_health_ && slot.health.state() != before) on_health_(slot, before);
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
    view.health = slot.health.state();
    if (view.health == DriverCondition::failing) view.last_failure = slot.trouble.message();
    view.circuit = slot.circuit.state();
    view.circuit_opens_for = std::chrono::ceil<Millis>(slot.circuit.remaining());
    view.measured_start_ms = slot.start.measured_ms();
    view.measured_starts = slot.start.samples();
    view.price_per_hour = price_of(slot, size_of({}));
    view.weight = slot.weight;
    view.labels = slot.labels;
    view.capacity = slot.capacity;
    if (slot.used != nullptr) view.used = *slot.used;
    views.push_back(std::move(view));
  }
  return views;
}

void DriverTable::count_by(
    const std::function<const policy::Amounts&(const std::string& driver)>& used_on) {
  for (auto& slot : slots_) slot.used = &used_on(slot.name());
}

Error DriverTable::lacking(std::string_view driver, std::string_view verb,
                           const std::function<bool(const Capabilities&)>& can) const {
  std::vector<std::string> able;
  for (const auto& slot : slots_) {
    if (slot.capabilities && can(*slot.capabilities)) able.push_back(slot.name());
  }
  const auto slot = std::ranges::find(slots_, driver, &DriverSlot::name);
  std::string why;
  if (slot != slots_.end() && slot->capabilities && verb.find("memory") != std::string_view::npos)
    why = why_no_memory(*slot->capabilities);
  return Error(Code::unsupported, std::string(driver) + " cannot " + std::string(verb) + why)
      .with_hint(able.empty() ? "no configured driver can" : enumerate(able) + " can");
}

std::optional<double> price_of(const DriverSlot& slot, const policy::Amounts& size) {
  if (!slot.capabilities) return std::nullopt;
  if (slot.price) return slot.price->of(size);
  const Capabilities& can = *slot.capabilities;
  if (can.price_per_hour) return can.price_per_hour;
  return can.placement == Placement::host ? std::optional(0.0) : std::nullopt;
}

std::optional<double> start_of(const DriverSlot& slot) {
  if (const auto measured = slot.start.measured_ms()) return measured;
  if (!slot.capabilities || slot.capabilities->typical_start_ms <= 0) return std::nullopt;
  return slot.capabilities->typical_start_ms;
}

std::optional<policy::Shortage> find_shortage(const DriverSlot& slot, const policy::Amounts& more) {
  if (slot.used == nullptr) return std::nullopt;
  return policy::find_shortage(slot.capacity, *slot.used, more);
}

Error full(const DriverSlot& slot, const policy::Shortage& shortage) {
  Refusal refusal{.limit = "driver_" + std::string(shortage.limit),
                  .most = shortage.most,
                  .used = shortage.used,
                  .asked = shortage.asked};
  return Error(Code::unavailable, fmt::format("{} is full: it has {}, and {:.10g} more is asked",
                                              slot.name(), shortage.held(), shortage.asked))
      .with_hint("try again when something on it has ended, or ask for less")
      .with_refusal(std::make_shared<const Refusal>(std::move(refusal)));
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
