// Hooks: commands that a profile has run in its sandboxes, after they start and before they stop.
//
// They run in the sandbox, which is not trusted: what they say decides about that sandbox alone,
// and at most kMostHooks times a thousand bytes of it are kept.
#pragma once

#include "core/parts.h"
#include "policy/startup.h"

namespace atl {

// What the profile of a sandbox says about its start and its stop; null = nothing. The profile may
// be gone since: Code::not_found.
Result<std::shared_ptr<const policy::Startup>> find_startup(const SandboxRecord& record,
                                                            const policy::Profiles& profiles);
bool has_hooks(const std::optional<std::vector<policy::SetupStep>>& hooks);

// One after the other, each within its time. What they said last; or the error of the first that
// fails, with what it said last.
Task<std::string> run_hooks(Guest& guest, std::vector<policy::SetupStep> hooks,  // awaited at once
                            ExecDefaults defaults);

// Of a sandbox that is there and has been started again. What was said is among its stages.
Task<> run_after_start(Parts& parts, RecordPtr record);  // awaited at once

// What came of the hooks before a stop; nullopt when there are none, or when nothing runs any more.
// Never fails and takes no longer than they may, whatever the sandbox does.
asio::awaitable<std::optional<Stage>> run_before_stop(Parts& parts,  // awaited at once
                                                      RecordPtr record);
// The same, noted among the sandbox's stages.
Task<> say_goodbye(Parts& parts, RecordPtr record);  // awaited at once

}  // namespace atl
