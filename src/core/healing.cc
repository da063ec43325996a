#include "core/healing.h"

#include "telemetry/log.h"

namespace atl {
namespace {

constexpr std::string_view kGivenUp = "; given up";

}  // namespace

void plan_recovery(Parts& parts, const RecordPtr& record) {
  if (record->asked.on_failure != OnFailure::recreate || record->ended_at) return;
  Course& course = record->asked.course;
  const Micros now = parts.clock.boot();
  if (record->revived_at.count() != 0 && now - record->revived_at >= kForgetRecoveriesAfter)
    course.tries = 0;
  if (course.tries >= kMostRecoveries) {
    record->recover_at = Micros(0);
    // What another daemon has said already is not said again.
    if (record->failure.find(kGivenUp) != std::string::npos) return;
    record->failure += std::string(kGivenUp) + " after " + std::to_string(course.tries) + " tries";
    telemetry::log_warn("sandbox is not recreated any more",
                        {{"sandbox", record->id}, {"why", record->failure}});
    return;
  }
  // 1, 4, 16, 64 and 256 seconds.
  record->recover_at = now + kFirstRecoveryPause * (int64_t{1} << (2 * course.tries));
  parts.events.add_health(*record);
  parts.reaper.schedule(record);
}

void give_up_recovery(SandboxRecord& record, const Error& why) {
  record.asked.course.tries = kMostRecoveries;
  record.recover_at = Micros(0);
  record.failure += std::string(kGivenUp) + ": " + why.message();
}

void forget_recovery(SandboxRecord& record) {
  record.asked.course.tries = 0;
  record.recover_at = Micros(0);
}

void forget_pulse(SandboxRecord& record) {
  record.is_unresponsive = false;
  record.missed_pulses = 0;
}

Result<> check_can_be_made_again(const CreateRequest& request) {
  if (request.on_failure.value_or(OnFailure::fail) == OnFailure::fail) return {};
  const auto refused = [](std::string_view what) {
    return Error(Code::invalid_argument,
                 "on_failure: a sandbox with " + std::string(what) + " cannot be made again")
        .with_hint("leave on_failure out, and create a new one when it has failed");
  };
  if (request.workspace || !request.mounts.empty()) return refused("directories of the host");
  // A template's tree is opened anew, in the version that it was made of.
  if (request.root && request.template_id.empty())
    return refused("a directory of the host as its root");
  if (!request.files.empty()) return refused("files from the beginning");
  return {};
}

}  // namespace atl
