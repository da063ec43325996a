#include "core/health_prober.h"

#include <algorithm>

#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

constexpr Micros kSoon = std::chrono::seconds(1);

}  // namespace

// Those who were asked together.
struct HealthProber::Round {
  explicit Round(const asio::any_io_executor& executor) : all_answered(executor) {}

  Event all_answered;
  std::set<const DriverSlot*> waiting;
};

Task<> HealthProber::step(std::shared_ptr<void> keep) {
  const auto round = std::make_shared<Round>(parts_.executor);
  std::vector<DriverSlot*> asked;
  for (auto& slot : parts_.drivers.slots()) {
    if (!slot.is_asked || out_.contains(&slot)) continue;
    round->waiting.insert(&slot);
    asked.push_back(&slot);
  }
  if (asked.empty()) co_return Result<>();
  for (DriverSlot* slot : asked) {
    out_.insert(slot);
    spawn(parts_.executor, ask(*slot, round), [keep](Result<>) {});
  }
  auto waited = co_await round->all_answered.wait_for(kPatience);
  if (waited) co_return Result<>();
  if (waited.error().code() == Code::cancelled) co_return std::move(waited).error();
  for (DriverSlot* slot : asked) {
    if (round->waiting.erase(slot) == 0) continue;
    parts_.metrics.driver_probes.at(slot->driver->name(), "late").add();
    parts_.drivers.note_probe(
        *slot, Error(Code::unavailable, slot->name() + " does not answer within 10 s"));
  }
  co_return Result<>();
}

// An answer that comes late is one all the same.
Task<> HealthProber::ask(DriverSlot& slot, std::shared_ptr<Round> round) {
  auto probed = co_await slot.look();
  out_.erase(&slot);
  parts_.metrics.driver_probes
      .at(slot.driver->name(), probed ? "ok" : to_string(probed.error().code()))
      .add();
  const bool was_waited_for = round->waiting.erase(&slot) > 0;
  if (was_waited_for || probed) parts_.drivers.note_probe(slot, std::move(probed));
  if (round->waiting.empty()) round->all_answered.fire();
  co_return Result<>();
}

Micros HealthProber::pause() const {
  const bool is_soon = std::ranges::any_of(parts_.drivers.slots(), [](const DriverSlot& slot) {
    return slot.health.state() == DriverCondition::recovering;
  });
  return with_jitter(is_soon ? kSoon : Micros(parts_.options.routing.probe_every));
}

Task<> HealthProber::run(std::shared_ptr<void> keep) {
  while (!stopping_) {
    woken_ = std::make_shared<Event>(parts_.executor);
    const auto woken = woken_;
    auto waited = co_await woken->wait_for(std::chrono::ceil<Millis>(pause()));
    if (stopping_ || (!waited && waited.error().code() == Code::cancelled)) break;
    auto stepped = co_await step(keep);
    if (!stepped) break;  // the loop ends
  }
  co_return Result<>();
}

void HealthProber::stop() {
  stopping_ = true;
  if (woken_) woken_->fire();
}

}  // namespace atl
