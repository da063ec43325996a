#include "native/launcher/shared_roots.h"

#include <algorithm>

namespace atl::native {
namespace {

constexpr size_t kMostRoots = 16;
constexpr auto kFresh = std::chrono::seconds(60);

}  // namespace

Result<std::shared_ptr<const SharedRoot>> SharedRoots::find(const Plan& plan) {
  if (plan.shared_steps == 0) return nullptr;
  const Micros now = system_clock().boot();
  std::erase_if(roots_, [&](const Root& root) { return now - root.made_at > kFresh; });
  const auto end = plan.steps.begin() + static_cast<std::ptrdiff_t>(plan.shared_steps);
  for (auto& root : roots_) {
    if (!std::equal(root.steps.begin(), root.steps.end(), plan.steps.begin(), end)) continue;
    if (!root.shared) {
      TRY(auto made, make_shared_root(plan));
      root.shared = std::make_shared<const SharedRoot>(std::move(made));
    }
    return root.shared;
  }
  if (roots_.size() >= kMostRoots) roots_.pop_front();
  roots_.push_back({{plan.steps.begin(), end}, {}, now});
  return nullptr;
}

}  // namespace atl::native
