// The verbs, each defined in the file of its name.
#pragma once

#include "cli/verb.h"

namespace atl::cli {

extern const Verb kRunVerb;
extern const Verb kMapVerb;
extern const Verb kCreateVerb;
extern const Verb kExecVerb;
extern const Verb kAttachVerb;
extern const Verb kPortVerb;
extern const Verb kPsVerb;
extern const Verb kInspectVerb;
extern const Verb kLogsVerb;
extern const Verb kStatsVerb;
extern const Verb kTraceVerb;
extern const Verb kTopVerb;
extern const Verb kEventsVerb;
extern const Verb kCpVerb;
extern const Verb kFindVerb;
extern const Verb kGrepVerb;
extern const Verb kWatchVerb;
extern const Verb kDiffVerb;
extern const Verb kStopVerb;
extern const Verb kStartVerb;
extern const Verb kPauseVerb;
extern const Verb kResumeVerb;
extern const Verb kResizeVerb;
extern const Verb kRenewVerb;
extern const Verb kForkVerb;
extern const Verb kSnapshotVerb;
extern const Verb kSessionVerb;
extern const Verb kResetVerb;
extern const Verb kRmVerb;
extern const Verb kDownVerb;
extern const Verb kDriversVerb;
extern const Verb kExtensionVerb;
extern const Verb kDoctorVerb;
extern const Verb kConfigVerb;
extern const Verb kTemplateVerb;
extern const Verb kProfileVerb;
extern const Verb kPoolVerb;
extern const Verb kPlanVerb;
extern const Verb kKeysVerb;
extern const Verb kTokenVerb;
extern const Verb kLimitsVerb;
extern const Verb kServeVerb;
extern const Verb kCompletionVerb;
extern const Verb kVersionVerb;

}  // namespace atl::cli
