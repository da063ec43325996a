#include "core/driver_health.h"

#include <algorithm>

namespace atl {

void DriverHealth::answered() {
  failures_ = 0;
  if (trusted_) return;
  answers_ = std::min(answers_ + 1, options_.answers);
  trusted_ = !known_ || answers_ >= options_.answers;
  known_ = true;
}

void DriverHealth::failed() {
  failures_ = std::min(failures_ + 1, options_.failures);
  answers_ = 0;
  if (!known_ || failures_ >= options_.failures) trusted_ = false;
  known_ = true;
}

DriverCondition DriverHealth::state() const {
  if (!known_) return DriverCondition::unknown;
  if (trusted_) return failures_ == 0 ? DriverCondition::healthy : DriverCondition::failing;
  return answers_ > 0 ? DriverCondition::recovering : DriverCondition::down;
}

}  // namespace atl
