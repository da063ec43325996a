#include "native/launcher/shared_roots.h"

#include <algorithm>

#include "native/child/shared_root.h"

namespace atl::native {
namespace {

constexpr size_t kMostRoots = 16;
constexpr auto kFresh = std::chrono::seconds(60);

}  // namespace

Result<int> SharedRoots::find(const Plan& plan) {
  if (plan.shared_steps == 0) return -1;
  const Micros now = system_clock().boot();
  std::erase_if(roots_, [&](const Root& root) { return now - root.made_at > kFresh; });
  const auto end = plan.steps.begin() + static_cast<std::ptrdiff_t>(plan.shared_steps);
  for (const auto& root : roots_) {
    if (std::equal(root.steps.begin(), root.steps.end(), plan.steps.begin(), end))
      return root.name_space.get();
  }
  TRY(auto name_space, make_shared_root(plan));
  if (roots_.size() >= kMostRoots) roots_.pop_front();
  roots_.push_back({{plan.steps.begin(), end}, std::move(name_space), now});
  return roots_.back().name_space.get();
}

}  // namespace atl::native
