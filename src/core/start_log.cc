// Creator::note_stages: what a start that went well has to tell, a line for each stage.
#include <algorithm>

#include "core/creator.h"

namespace atl {
namespace {

constexpr size_t kMostNamed = 4;

std::string describe_route(const Asked& asked, const std::vector<DriverSlot*>& route) {
  if (!asked.snapshot.empty()) return route.front()->name() + ", which has the snapshot";
  if (!asked.driver.empty()) return route.front()->name() + ", which was named";
  if (route.size() == 1) return route.front()->name() + ", the only one that will do";
  std::string text = route.front()->name() + ", before ";
  for (size_t i = 1; i < std::min(route.size(), kMostNamed); ++i)
    text += (i > 1 ? ", " : "") + route[i]->name();
  if (route.size() > kMostNamed)
    text += " and " + std::to_string(route.size() - kMostNamed) + " more";
  return text;
}

}  // namespace

void Creator::note_stages(Plan& plan) {
  const Asked& asked = plan.record->asked;
  telemetry::StageTimer& timer = plan.timer;
  if (!plan.route.empty()) timer.note("route", describe_route(asked, plan.route));
  for (const auto& [stage, said] : plan.said) timer.note(stage, said);
  timer.note("pull", asked.image);
  timer.note("load", asked.template_);
  timer.note("hand_over", "one that " + plan.record->driver + " had made ahead");
  timer.note("pool", "one of pool " + asked.pool);
}

}  // namespace atl
