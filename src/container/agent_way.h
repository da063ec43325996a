// AgentWay: how the agent of one container is reached, first and again.
#pragma once

#include <sys/types.h>

#include "base/clock.h"
#include "base/task.h"
#include "net/byte_stream.h"

namespace atl::container {

struct AgentCall {
  net::StreamPtr stream;
  bool is_new = false;    // it waits for its configuration
  Micros clock_ahead{0};  // its Clock::boot(), less ours
};

class AgentWay {
 public:
  virtual ~AgentWay() = default;

  // Before the container is started: its agent can be heard from now on.
  virtual Result<> open() = 0;
  // Once it is: its first process, in the engine's pid namespace.
  virtual void expect(pid_t agent) = 0;
  // A connection. Code::deadline_exceeded when none comes about in time; Code::cancelled after
  // close().
  virtual Task<AgentCall> await_call() = 0;
  // Whoever waits gets Code::cancelled, if it can be helped at once.
  virtual void close() = 0;
};

}  // namespace atl::container
