#include "core/pulse.h"

#include <algorithm>

#include "core/healing.h"
#include "telemetry/log.h"

namespace atl {
namespace {

// What one round has heard so far; shared with questions that outlive it.
struct Round {
  Round(const asio::any_io_executor& executor, size_t count)
      : all(executor), heard(count, false), left(count) {}

  Event all;
  std::vector<bool> heard;
  size_t left;
};

Task<> ask(std::shared_ptr<Sandbox> handle) {
  auto told = co_await handle->guest().stat(".");
  if (told) co_return Result<>();
  const Code code = told.error().code();
  // Whoever refuses is there.
  if (code != Code::unavailable && code != Code::deadline_exceeded && code != Code::cancelled)
    co_return Result<>();
  co_return std::move(told).error();
}

}  // namespace

std::vector<RecordPtr> Pulse::choose() const {
  const Micros now = parts_.clock.boot();
  std::vector<RecordPtr> due;
  for (const auto& record : parts_.sandboxes.all()) {
    const bool is_asked = record->state == State::running && record->handle &&
                          record->handle->is_running() &&
                          record->lifecycle != Lifecycle::ephemeral && !record->is_dozing_off &&
                          !record->turns.is_taken();
    const Micros last = std::max(record->pulse_at, record->last_active_boot);
    if (is_asked && now - (record->missed_pulses > 0 ? record->pulse_at : last) >=
                        Micros(parts_.options.pulse_every))
      due.push_back(record);
  }
  if (due.size() <= kMostAtOnce) return due;
  std::ranges::nth_element(due, due.begin() + kMostAtOnce, {},
                           [](const RecordPtr& record) { return record->pulse_at; });
  due.resize(kMostAtOnce);
  return due;
}

Task<> Pulse::feel() {
  const auto chosen = choose();
  if (chosen.empty()) co_return Result<>();
  const auto round = std::make_shared<Round>(parts_.executor, chosen.size());
  std::vector<std::pair<RecordPtr, int64_t>> asked;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const RecordPtr& record = chosen[i];
    record->pulse_at = parts_.clock.boot();
    asked.emplace_back(record, record->generation);
    const auto handle = record->handle;
    if (record->being_asked.lock() == handle) {
      --round->left;
      continue;
    }
    record->being_asked = handle;
    spawn(parts_.executor, ask(handle), [round, record, handle, i](Result<> answered) {
      if (record->being_asked.lock() == handle) record->being_asked.reset();
      round->heard[i] = answered.has_value();
      if (--round->left == 0) round->all.fire();
    });
  }
  if (round->left > 0) {
    auto waited = co_await round->all.wait_for(parts_.options.pulse_patience);
    if (!waited && waited.error().code() == Code::cancelled) co_return waited;
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& [record, generation] = asked[i];
    // What was done with it meanwhile says more than this answer.
    if (record->generation != generation || record->turns.is_taken()) continue;
    if (round->heard[i]) {
      note_answer(record);
    } else {
      note_miss(record);
    }
  }
  co_return Result<>();
}

void Pulse::note_answer(const RecordPtr& record) {
  const bool was_silent = record->is_unresponsive;
  forget_pulse(*record);
  if (!was_silent) return;
  if (record->state == State::running) record->recover_at = Micros(0);
  parts_.events.add_health(*record);
  telemetry::log_info("sandbox answers again", {{"sandbox", record->id}});
}

void Pulse::note_miss(const RecordPtr& record) {
  if (record->state != State::running || !record->handle || !record->handle->is_running()) return;
  if (++record->missed_pulses < kMostMissed || record->is_unresponsive) return;
  record->is_unresponsive = true;
  parts_.events.add_health(*record);
  telemetry::log_warn("sandbox does not answer", {{"sandbox", record->id}});
  plan_recovery(parts_, record);
}

Task<> Pulse::run() {
  const auto every = std::chrono::duration_cast<Millis>(parts_.options.pulse_every) / 3;
  while (!stopping_ && every.count() > 0) {
    woken_ = std::make_shared<Event>(parts_.executor);
    const auto woken = woken_;
    auto waited = co_await woken->wait_for(every);
    if (stopping_ || (!waited && waited.error().code() == Code::cancelled)) break;
    auto felt = co_await feel();
    if (!felt) break;
  }
  co_return Result<>();
}

void Pulse::stop() {
  stopping_ = true;
  if (woken_) woken_->fire();
}

}  // namespace atl
