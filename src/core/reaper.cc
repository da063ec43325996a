#include "core/reaper.h"

namespace atl {
namespace {

// The timer does not count time that the machine slept, Clock::boot() does; so it looks this often
// at least.
constexpr Micros kLongestSleep = std::chrono::seconds(30);

}  // namespace

Reaper::Reaper(asio::any_io_executor executor, const Clock& clock)
    : executor_(std::move(executor)), clock_(clock) {}

void Reaper::schedule(const RecordPtr& record) {
  const auto deadline = record->deadline();
  if (!deadline) return;
  if (record->reaper_looks_at.count() != 0 && record->reaper_looks_at <= *deadline) return;
  forget(*record);
  record->reaper_looks_at = *deadline;
  const bool is_next = looks_.empty() || *deadline < looks_.begin()->first.first;
  looks_.emplace(Moment(*deadline, record->id), record);
  if (is_next && news_) std::exchange(news_, nullptr)->fire();
}

void Reaper::forget(SandboxRecord& record) {
  looks_.erase(Moment(record.reaper_looks_at, record.id));
  record.reaper_looks_at = Micros(0);
}

void Reaper::step() {
  const Micros now = clock_.boot();
  while (!looks_.empty() && looks_.begin()->first.first <= now) {
    const RecordPtr record = looks_.begin()->second;
    forget(*record);
    const auto deadline = record->deadline();
    if (deadline && *deadline <= now) {
      expire_(record);
    } else {
      schedule(record);
    }
  }
}

Task<> Reaper::run() {
  while (!stopping_) {
    step();
    Micros sleep = kLongestSleep;
    if (!looks_.empty())
      sleep = std::clamp(looks_.begin()->first.first - clock_.boot(), Micros(0), sleep);
    const auto news = std::make_shared<Event>(executor_);
    news_ = news;
    const auto most = std::chrono::ceil<Millis>(sleep);
    auto waited = co_await news->wait_for(most);
    if (!waited && waited.error().code() == Code::cancelled) break;
  }
  co_return Result<>();
}

void Reaper::stop() {
  stopping_ = true;
  if (news_) std::exchange(news_, nullptr)->fire();
}

}  // namespace atl
