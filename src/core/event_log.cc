#include "core/event_log.h"

#include "base/ids.h"
#include "core/sandbox_record.h"

namespace atl {
namespace {

constexpr size_t kEpochLength = 8;

bool needs_words(State state) {
  return state == State::failed || state == State::destroyed || state == State::stopped;
}

}  // namespace

EventLog::EventLog(const asio::any_io_executor& executor, const Clock& clock)
    : executor_(executor), clock_(clock), epoch_(random_name(kEpochLength)) {}

void EventLog::add(const SandboxRecord& record, State from) {
  keep({.from = from,
        .to = record.state,
        .reason = needs_words(record.state) ? record.failure : std::string()},
       record);
}

void EventLog::add_health(const SandboxRecord& record) {
  keep({.from = record.state,
        .to = record.state,
        .health = record.health(),
        .reason = record.health() == Health::unresponsive ? "it does not answer" : record.failure},
       record);
}

void EventLog::add_progress(const SandboxRecord& record, Progress progress) {
  keep({.from = record.state, .to = record.state, .progress = std::move(progress)}, record);
}

void EventLog::add_driver(std::string driver, std::string change, std::string reason) {
  keep({.driver = std::move(driver),
        .reason = std::move(reason),
        .driver_change = std::move(change)});
}

void EventLog::add_waiting(const SandboxView& view, Lifecycle lifecycle, size_t position) {
  keep({.tenant = view.tenant,
        .owner = view.owner,
        .sandbox = view.id,
        .name = view.name,
        .driver = view.driver,
        .is_run = lifecycle == Lifecycle::ephemeral,
        .queue_position = position});
}

void EventLog::keep(SandboxEvent event, const SandboxRecord& record) {
  event.tenant = record.tenant;
  event.owner = record.owner;
  event.sandbox = record.id;
  event.name = record.name;
  event.driver = record.driver;
  event.is_run = record.lifecycle == Lifecycle::ephemeral;
  keep(std::move(event));
}

void EventLog::keep(SandboxEvent event) {
  event.number = ++last_;
  event.at = clock_.wall();
  kept_.push_back(std::make_shared<const SandboxEvent>(std::move(event)));
  if (kept_.size() > kMostEvents) kept_.pop_front();
  wake();
}

void EventLog::wake() {
  if (const auto next = std::exchange(next_, nullptr)) next->fire();
}

EventLog::Page EventLog::after(uint64_t number, size_t most) const {
  Page page;
  if (number >= last_) return page;
  const uint64_t first_kept = last_ - kept_.size() + 1;
  if (number + 1 < first_kept) page.lost = first_kept - number - 1;
  const size_t skipped = page.lost > 0 ? 0 : number + 1 - first_kept;
  const size_t end = std::min(kept_.size(), skipped + most);
  page.events.assign(kept_.begin() + static_cast<ptrdiff_t>(skipped),
                     kept_.begin() + static_cast<ptrdiff_t>(end));
  return page;
}

Task<> EventLog::wait_beyond(uint64_t number, Millis patience) {
  if (last_ > number) co_return Result<>();
  if (!next_) next_ = std::make_shared<Event>(executor_);
  const auto next = next_;
  co_return co_await next->wait_for(patience);
}

}  // namespace atl
