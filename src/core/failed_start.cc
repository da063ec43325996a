// Creator::give_up and refuse: what is left of a start that came to nothing, its record and its
// error.
#include "base/ids.h"
#include "base/refusal.h"
#include "core/creator.h"
#include "core/router.h"

namespace atl {
namespace {

// Beside the limit that was met, if one was.
Error with_start(Error why, const std::string& id, const std::vector<Stage>& stages) {
  Refusal refusal = why.refusal() ? *why.refusal() : Refusal();
  refusal.sandbox = id;
  for (const Stage& stage : stages) refusal.stages.push_back({stage.name, stage.ms, stage.log});
  return std::move(why).with_refusal(std::make_shared<const Refusal>(std::move(refusal)));
}

}  // namespace

Error Creator::give_up(Plan& plan, Intent intent, Error why) {
  const auto record = plan.record;
  record->failure = why.message();
  // What its driver was doing says more than that it was making it.
  const bool is_drivers = why.stage().empty() || why.stage() == "create";
  const std::string stage = !is_drivers              ? why.stage()
                            : plan.under_way.empty() ? "create"
                                                     : plan.under_way;
  note_stages(plan);
  plan.timer.tell(stage, why.message());
  record->stages = record->asked.course.stages = plan.timer.stages();
  if (record->state != State::failed) parts_.sandboxes.move_to(*record, State::failed);
  record->ended_at = parts_.clock.wall();
  ++record->generation;
  parts_.bury(record, "could not be made: " + why.message());
  std::vector<store::Change> more;
  if (plan.key) {
    parts_.idempotency.forget(*plan.key);
    more.push_back(store::DropIdempotency{plan.key->tenant, plan.key->key, record->id});
  }
  if (intent.id != 0) {
    parts_.journal.settle_later(record, intent, store::IntentState::failed, why.message(),
                                std::move(more));
    if (plan.key || !record->name.empty()) {
      failed_tries_.push_back({record, plan.key ? plan.key->key : std::string()});
    }
  } else if (record->lifecycle == Lifecycle::ephemeral || plan.was_parked) {
    parts_.journal.note_later(record);
  }
  return with_start(std::move(why), record->id, record->stages);
}

Error Creator::refuse(const Caller& caller, const CreateRequest& request, Lifecycle lifecycle,
                      telemetry::StageTimer timer, std::string id, Error why) {
  if (!request.profile.empty()) why = std::move(why).with("profile " + request.profile);
  if (lifecycle == Lifecycle::pooled) return why;
  const auto record = std::make_shared<SandboxRecord>(parts_.executor);
  record->id = id.empty() ? make_sandbox_id() : std::move(id);
  record->tenant = caller.tenant;
  record->owner = caller.subject;
  record->asked = to_asked(request);
  record->lifecycle = lifecycle;
  record->state = State::failed;
  record->resources = request.resources;
  record->created_at = record->last_active_at = parts_.clock.wall();
  record->ended_at = record->created_at;
  // The reason is in the hint, driver by driver.
  record->failure = why.message();
  timer.tell("route", why.hint().empty() ? why.message() : why.message() + " (" + why.hint() + ")");
  record->stages = record->asked.course.stages = timer.stages();
  caller.trace.note_sandbox(record->id);
  parts_.journal.note_later(record);
  return with_start(std::move(why), record->id, record->stages);
}

}  // namespace atl
