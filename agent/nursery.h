// The child that is ready for the next command, see native/child/parked_child.h, in a control group
// that nobody else is in.
//
// One is made when the second command, or a later one, has ended: who ran two runs more, and a
// sandbox for a single command does without. Whoever finds none starts a child the long way; it is
// only slower.
#pragma once

#include <optional>

#include "agent/exec_groups.h"
#include "native/child/parked_child.h"

namespace atl::agent {

class Nursery final {
 public:
  explicit Nursery(ExecGroups& groups) : groups_(groups) {}

  // Has a child made, off the path of any command.
  void refill();
  bool has_child() const { return parked_ != nullptr && !parked_->is_free(); }
  // The group of the child that is ready; start it with `child()`.
  std::optional<ExecGroup> take();
  native::ParkedChild& child() { return *parked_; }

 private:
  ExecGroups& groups_;
  native::ParkedChild* parked_ = nullptr;
  std::optional<ExecGroup> group_;
};

}  // namespace atl::agent
