#include "agent/nursery.h"

namespace atl::agent {

void Nursery::refill() {
  if (!groups_.available() || has_child()) return;
  if (parked_ == nullptr) {
    auto made = native::ParkedChild::create();
    if (!made) return;
    parked_ = *made;
  }
  // Of a child that was lost.
  if (group_) groups_.give_back(std::move(*group_));
  group_.reset();
  auto group = groups_.make();
  if (!group) return;
  group_ = std::move(*group);
  parked_->park(group_->joins());
}

std::optional<ExecGroup> Nursery::take() {
  if (!group_ || !parked_->is_ready()) return std::nullopt;
  return std::exchange(group_, std::nullopt);
}

}  // namespace atl::agent
