// One command: its process, its output rings, and the clients that follow it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "agent/exec_groups.h"
#include "agent/ring.h"
#include "base/clock.h"
#include "base/fd.h"
#include "guest/protocol.h"

namespace atl::agent {

class Connection;

// A client's place in the output of a process.
struct Subscription {
  Connection* connection = nullptr;
  uint32_t channel = 0;
  uint64_t next[2] = {0, 0};
  uint64_t credit = 0;
};

// A client's bytes on their way into stdin; answered once they are all in the pipe.
struct PendingInput {
  Connection* connection = nullptr;  // nullptr when it has gone
  uint32_t channel = 0;
  std::string bytes;
  size_t written = 0;
};

struct OutputStream {
  Fd pipe;
  Ring ring;
  bool watched = false;  // in the poller, waiting for more
  // The end to write to, until the process has ended: its going away is told once, by its end, and
  // not by each of its streams before.
  Fd held;
  // Once the process has ended: where its own output ends. What comes later is written by others
  // that it has left behind.
  uint64_t own_end = 0;
  bool end_is_bound = false;  // it ends there at the latest: a terminal does not tell what it holds
};

struct Process {
  uint64_t id = 0;
  pid_t pid = 0;
  std::string mark;
  guest::ProcessRow row;        // what a process list shows
  Connection* owner = nullptr;  // of a direct process, which ends with it
  bool direct = false;
  bool is_tool = false;       // ends with its owner, and is in no list
  bool has_terminal = false;  // its master is streams[0].pipe, and a copy of it is `input`

  OutputStream streams[2];
  Fd input;
  bool input_watched = false;
  bool close_input_when_written = false;
  std::deque<PendingInput> pending_input;

  Micros started{0};
  Micros deadline{0};         // zero = none
  uint64_t cpu_limit_us = 0;  // zero = none
  Micros cpu_check{0};        // when it could be used up at the earliest; zero = never
  uint64_t output_limit = 0;
  std::optional<guest::ExitKind> ended_by_us;
  guest::HitLimit hit = guest::HitLimit::none;
  std::optional<ExecGroup> group;  // where the host has cgroups and the agent is in a box
  uint64_t earlier_oom_kills = 0;  // in its container, where it has no group
  bool reaped = false;

  std::vector<Subscription> subscriptions;
};

}  // namespace atl::agent
