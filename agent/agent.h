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

// Who has started it, and so how others come to it: by the launcher's listener, not at all (it
// calls: caller.h), through a relay (answerer.h), or as descriptors (gate.h).
enum class Entry : uint8_t { launcher, caller, answerer, gate };

class Agent final {
 public:
  // `socket` is what a caller calls.
  static Result<std::unique_ptr<Agent>> create(Entry entry, std::string socket = {});

  // Returns the exit code.
  int run();

 private:
  Agent(os::Poller poller, Jail jail, std::string token, Fd signals, Entry entry,
        std::string socket);

  Result<> listen();
  void add_connection(Fd socket, Preface preface);
  void accept();
  // Lets go of whoever is connected until the sandbox goes on, here or as another one; see gate.h.
  Result<> rest();
  void let_go_of_all();
  void call_home();
  void on_signal();
  void drop_closed();
  void make_room();
  bool is_superseded(const Connection& connection) const;
  Micros next_deadline() const;
  bool is_alone() const { return !socket_.empty() && connections_.empty(); }

  os::Poller poller_;
  Jail jail_;
  std::string token_;
  Fd signals_;
  const Entry entry_;
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
void tell_why_not(Entry entry, const Error& error);

}  // namespace atl::agent
