// A command that runs in a daemon's sandbox as if it ran here: its output on our stdout and stderr,
// our stdin as its stdin, and the signals that people send to stop a program passed on to it.
//
// The second Ctrl-C kills the command, the third leaves at once. With a terminal the keys are the
// command's, Ctrl-C included; Ctrl-P Ctrl-Q leaves it running, where it can.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/client.h"
#include "client/exec_stream.h"
#include "json/value.h"

namespace atl::cli {

enum class Input : uint8_t {
  none,
  forward,
  terminal,  // the command's terminal is ours
};

enum class Leaving : uint8_t {
  ends,   // what is left alone ends
  keeps,  // and can be attached to again
};

struct StreamRequest {
  client::ExecStreamRequest exec;
  Input input = Input::none;
  Leaving leaving = Leaving::ends;
  std::function<void()> on_started = {};  // before any of its output is there
};

struct StreamEnd {
  client::ProcessRef started;
  json::Value exit;   // how it ended, as the API tells it
  bool left = false;  // it has not ended: the user has left it
};

Result<StreamEnd> follow_stream(Client& client, StreamRequest request);

// The answer as it comes, on our stdout.
Result<> copy_stream(Client& client, std::string target, std::string_view accept);

// Starts the command and leaves it running.
Result<client::ProcessRef> start_detached(Client& client, client::ExecStreamRequest request);

}  // namespace atl::cli
