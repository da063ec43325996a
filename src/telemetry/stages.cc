#include "telemetry/stages.h"

#include <algorithm>
#include <cmath>

namespace atl::telemetry {
namespace {

double to_ms(Micros duration) { return static_cast<double>(duration.count()) / 1000.0; }

Micros from_ms(double ms) { return Micros(std::llround(ms * 1000.0)); }

}  // namespace

void StageTimer::mark(std::string_view name) {
  const Micros now = clock_->boot();
  add(name, now - last_);
  scope_.add(name, last_, now);
  last_ = now;
}

void StageTimer::tell(std::string_view name, std::string log) {
  const Micros now = clock_->boot();
  stages_.push_back({std::string(name), to_ms(now - last_), std::move(log)});
  scope_.add(name, last_, now);
  last_ = now;
}

void StageTimer::note(std::string_view name, std::string_view log) {
  if (log.empty()) return;
  const auto last = std::find_if(stages_.rbegin(), stages_.rend(),
                                 [&](const Stage& s) { return s.name == name; });
  if (last == stages_.rend() || last->log) return;
  if (log.size() <= kMostNoted) {
    last->log = log;
    return;
  }
  // Not within a letter.
  size_t end = kMostNoted - 3;
  while (end > 0 && (static_cast<unsigned char>(log[end]) & 0xC0U) == 0x80U) --end;
  last->log = std::string(log.substr(0, end)) + "…";
}

void StageTimer::add(std::string_view name, Micros duration) {
  const auto known = std::ranges::find_if(
      stages_, [&](const Stage& stage) { return stage.name == name && !stage.log; });
  if (known != stages_.end()) {
    // Added as whole numbers: sums of fractions have digits that nobody measured.
    known->ms = to_ms(from_ms(known->ms) + duration);
  } else {
    stages_.push_back({std::string(name), to_ms(duration), std::nullopt});
  }
}

double StageTimer::total_ms() const { return to_ms(clock_->boot() - started_); }

}  // namespace atl::telemetry
