// Follows one process for a client: output to the client, stdin to the process, and what to do when
// the client leaves.
#pragma once

#include <memory>

#include "api/v1/output_sink.h"
#include "core/exec_account.h"

namespace atl::api::v1 {

enum class OnDisconnect : uint8_t { keep, kill };
BOOST_DESCRIBE_ENUM(OnDisconnect, keep, kill)

Result<OnDisconnect> read_on_disconnect(const net::Request& request);

struct Followed {
  GuestLease lease;
  std::shared_ptr<Process> process;
  OnDisconnect on_disconnect = OnDisconnect::keep;
  std::string stdin_bytes;
  AfterStdin after_stdin = AfterStdin::close;
  ExecAccount* account = nullptr;  // is told of output; outlives the call
};

// Returns the status when the process has ended, and an error when nobody follows it any more: a
// kept process then goes on, all of `stdin_bytes` included. `sink` gets start, output and gaps; its
// end is the caller's to tell.
Task<ExitStatus> follow(Call& call, Followed followed, OutputSink& sink);

}  // namespace atl::api::v1
