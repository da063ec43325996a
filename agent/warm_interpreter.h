// An interpreter that is started before anybody has said what it shall run.
//
// In a sandbox that waits to be used it has done everything that takes its time, under the whole
// policy and in a control group of its own, and waits for one command. Given one, it becomes what
// it would have been, see agent/warm/; nothing of it is ever shared or used again.
#pragma once

#include <sys/types.h>

#include <string>

#include "agent/exec_groups.h"
#include "agent/jail.h"
#include "agent/spawn.h"
#include "base/fd.h"
#include "guest/protocol.h"

namespace atl::agent {

class WarmInterpreter final {
 public:
  // Code::unsupported where there is none, or no group to count and to end it by. `mark` is that of
  // the command which it will be.
  static Result<WarmInterpreter> start(const Jail& jail, ExecGroups& groups,
                                       const std::string& name, const std::string& mark);

  pid_t pid() const { return pid_; }
  // Whether it can serve the command; if not, it never will.
  static bool fits(const Jail& jail, const ExecGroups& groups, const guest::Exec& request);
  // Makes it run the command. Everything of it is the command's then; if it fails, it must go.
  Result<> hand_over(const Jail& jail, const SpawnPlace& place, const guest::Exec& request);

  struct Streams {
    Fd out, err;            // to read from
    Fd out_held, err_held;  // what it writes to
  };
  Streams take_streams() { return std::move(streams_); }
  ExecGroup take_group() { return std::move(group_); }

 private:
  pid_t pid_ = 0;
  Streams streams_;
  Fd request_;
  ExecGroup group_;
};

}  // namespace atl::agent
