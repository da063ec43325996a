// The agent: process number one of a sandbox, between whoever asked for it and the code that runs
// in it.
//
// One epoll loop. It outlives its clients: commands go on and output is kept while nobody is
// connected. SIGTERM ends every command and then the agent.
#pragma once

#include <list>
#include <memory>

#include "agent/connection.h"
#include "agent/jail.h"
#include "agent/proc_files.h"
#include "agent/process_table.h"
#include "agent/sudo/door.h"
#include "os/poller.h"

namespace atl::agent {

class Agent final {
 public:
  // `socket` is what an agent calls that has no launcher to accept connections from; see caller.h.
  static Result<std::unique_ptr<Agent>> create(std::string socket = {});

  // Returns the exit code.
  int run();

 private:
  Agent(os::Poller poller, Jail jail, std::string token, Fd signals, std::string socket);

  Result<> listen();
  void add_connection(Fd socket, Preface preface);
  void accept();
  void call_home();
  void on_signal();
  void drop_closed();
  Micros next_deadline() const;
  bool is_alone() const { return !socket_.empty() && connections_.empty(); }

  os::Poller poller_;
  Jail jail_;
  std::string token_;
  Fd signals_;
  Fd listener_;               // none where we call
  const std::string socket_;  // what we call; "" = others connect to us
  Micros next_call_{0};
  ProcessTable processes_;
  SudoDoor sudo_door_;
  ProcFiles proc_files_;
  std::list<std::unique_ptr<Connection>> connections_;
  Connection* first_ = nullptr;
  bool ending_ = false;
};

// Answers whoever asked for the sandbox, when there will be none.
void tell_why_not(const Error& error);

}  // namespace atl::agent
