// Commands on their way to a daemon, and results in the form that the API gives them.
#pragma once

#include <string>
#include <vector>

#include "api/v1/exec_wire.h"
#include "cli/client.h"
#include "cli/exec_flags.h"
#include "cli/stream.h"

namespace atl::cli {

// Code::invalid_argument for arguments that JSON cannot carry: it has text, not bytes.
Result<api::v1::WireExec> to_wire(std::vector<std::string> argv, ExecAsked asked);

// Everything that our stdin holds, for answers that come whole. Code::too_large beyond what the API
// takes.
Result<std::string> read_stdin();

// Runs a command in a sandbox that is there, as if it ran here (or with --json, telling it all at
// the end), and gives its exit code.
Result<int> exec_in(Context& context, Client& client, const std::string& sandbox,
                    std::vector<std::string> argv, ExecAsked asked, Input input);

// What follow_stream came back with, told as a shell would; gives the command's exit code.
int tell_stream_end(Context& context, const std::string& sandbox, const StreamEnd& ended);

// A result of an engine of our own, as POST /v1/runs would tell it.
std::string to_json(const RunResult& result);

}  // namespace atl::cli
