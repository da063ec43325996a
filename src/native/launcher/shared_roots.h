// The shared roots that are at hand; see child/shared_root.h.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "native/child/shared_root.h"

namespace atl::native {

class SharedRoots final {
 public:
  // The one that this plan shares; null if it shares none, or is the first that could: one alone is
  // sooner made without. Whether two plans do is told by their
  // steps, so what changes on the host makes another one. What changes below a mount is not seen
  // that way: after a minute it is made anew. Running sandboxes have copies of their own; one that
  // is on its way keeps it.
  Result<std::shared_ptr<const SharedRoot>> find(const Plan& plan);

 private:
  struct Root {
    std::vector<Step> steps;
    std::shared_ptr<const SharedRoot> shared;
    Micros made_at{};
  };
  std::deque<Root> roots_;
};

}  // namespace atl::native
