// The parts of `atoll doctor`, each in the file of its name.
#pragma once

#include "cli/doctor_report.h"
#include "cli/sandbox_runner.h"
#include "cli/verb.h"

namespace atl::cli {

// Looks at the host, asks for drivers and tries the default one. Never fails: what could not be
// found out is in the report. `runner` is set if there is an engine to ask.
DoctorReport examine(Context& context, std::unique_ptr<SandboxRunner>& runner);

// doctor_attack.cc: runs the attacks in sandboxes of one driver and prints the scorecard.
Result<int> attack_from_inside(Context& context);
// doctor_bundle.cc: packs diagnostics into a file.
Result<int> write_bundle(Context& context, const std::string& path);

}  // namespace atl::cli
