#include "telemetry/stages.h"

#include <algorithm>

namespace atl::telemetry {
namespace {

double to_ms(Micros duration) { return static_cast<double>(duration.count()) / 1000.0; }

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

void StageTimer::add(std::string_view name, Micros duration) {
  const auto known = std::ranges::find_if(
      stages_, [&](const Stage& stage) { return stage.name == name && !stage.log; });
  if (known != stages_.end()) {
    known->ms += to_ms(duration);
  } else {
    stages_.push_back({std::string(name), to_ms(duration), std::nullopt});
  }
}

double StageTimer::total_ms() const { return to_ms(clock_->boot() - started_); }

}  // namespace atl::telemetry
