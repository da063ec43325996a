#include "core/pulse.h"

#include <algorithm>
#include <set>

#include "core/healing.h"
#include "telemetry/log.h"

namespace atl {
namespace {

// What one round has heard so far; shared with questions that outlive it.
struct Round {
  explicit Round(size_t count) : heard(count, false) {}

  std::vector<bool> heard;
  size_t out = 0;  // questions without an answer
  // Those of them that others wait for before they are asked.
  std::set<size_t> in_front;
  std::shared_ptr<Event> next = nullptr;  // fires with each answer
  std::shared_ptr<Event> all = nullptr;   // fires with the last one
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

bool is_asked(const SandboxRecord& record) {
  return record.state == State::running && record.handle && record.handle->is_running() &&
         record.lifecycle != Lifecycle::ephemeral && !record.is_dozing_off &&
         !record.turns.is_taken();
}

}  // namespace

std::vector<RecordPtr> Pulse::choose() const {
  const Micros now = parts_.clock.boot();
  std::vector<RecordPtr> due;
  size_t live = 0;
  for (const auto& record : parts_.sandboxes.all()) {
    if (!is_asked(*record)) continue;
    ++live;
    const Micros last = std::max(record->pulse_at, record->last_active_boot);
    if (now - (record->missed_pulses > 0 ? record->pulse_at : last) >=
        Micros(parts_.options.pulse_every))
      due.push_back(record);
  }
  const size_t most = std::max(kMostAtOnce, live / static_cast<size_t>(kRounds) + 1);
  if (due.size() <= most) return due;
  std::ranges::nth_element(due, due.begin() + static_cast<ptrdiff_t>(most), {},
                           [](const RecordPtr& record) { return record->pulse_at; });
  due.resize(most);
  return due;
}

Task<> Pulse::feel() {
  const auto chosen = choose();
  if (chosen.empty()) co_return Result<>();
  struct Asked {
    RecordPtr record;
    int64_t generation;
    size_t at;
  };
  const auto round = std::make_shared<Round>(chosen.size());
  // A driver that hangs has many that do not answer, and nobody behind them waits as long as they
  // may take.
  const Millis place_patience = std::max(parts_.options.pulse_patience / 10, Millis(1));
  std::vector<Asked> asked;
  for (size_t i = 0; i < chosen.size(); ++i) {
    while (round->in_front.size() >= kMostAtOnce) {
      round->next = std::make_shared<Event>(parts_.executor);
      const auto next = round->next;
      auto waited = co_await next->wait_for(place_patience);
      if (!waited && waited.error().code() == Code::cancelled) co_return waited;
      if (!waited) round->in_front.clear();
    }
    const RecordPtr& record = chosen[i];
    if (!is_asked(*record)) continue;  // it has ended meanwhile, or something is done with it
    record->pulse_at = parts_.clock.boot();
    asked.push_back({record, record->generation, i});
    const auto handle = record->handle;
    if (record->being_asked.lock() == handle) continue;
    record->being_asked = handle;
    ++round->out;
    round->in_front.insert(i);
    spawn(parts_.executor, ask(handle), [round, record, handle, i](Result<> answered) {
      if (record->being_asked.lock() == handle) record->being_asked.reset();
      round->heard[i] = answered.has_value();
      round->in_front.erase(i);
      if (round->next) round->next->fire();
      if (--round->out == 0 && round->all) round->all->fire();
    });
  }
  if (round->out > 0) {
    round->all = std::make_shared<Event>(parts_.executor);
    const auto all = round->all;
    auto waited = co_await all->wait_for(parts_.options.pulse_patience);
    if (!waited && waited.error().code() == Code::cancelled) co_return waited;
  }
  for (const auto& [record, generation, at] : asked) {
    // What was done with it meanwhile says more than this answer.
    if (record->generation != generation || record->turns.is_taken()) continue;
    if (round->heard[at]) {
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
  const Millis every = std::chrono::duration_cast<Millis>(parts_.options.pulse_every) / kRounds;
  Millis pause = every;
  while (!stopping_ && every.count() > 0) {
    woken_ = std::make_shared<Event>(parts_.executor);
    const auto woken = woken_;
    auto waited = co_await woken->wait_for(pause);
    if (stopping_ || (!waited && waited.error().code() == Code::cancelled)) break;
    const Micros begun = parts_.clock.boot();
    auto felt = co_await feel();
    if (!felt) break;
    // A round that waited for its answers holds up no other.
    const auto took = std::chrono::duration_cast<Millis>(parts_.clock.boot() - begun);
    pause = std::max(every - took, every / 10);
  }
  co_return Result<>();
}

void Pulse::stop() {
  stopping_ = true;
  if (woken_) woken_->fire();
}

}  // namespace atl
