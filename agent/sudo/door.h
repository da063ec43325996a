// Where `sudo` inside a sandbox knocks: the agent runs the command for it, as another user of the
// sandbox.
//
// Nothing inside can gain rights by itself (no_new_privs, nosuid, locked securebits), so a command
// that is to run as root has to be started by somebody who is. Root inside is nobody outside: it
// has ids of the sandbox's own range, the same namespaces, filters and limits as everybody else,
// and capabilities only where the root file system is the sandbox's own. So `sudo` opens no door to
// the host; it is there because scripts expect it.
//
// The command belongs to the command that asked: it is in the same control group, ends with it, is
// counted with it. It also ends when its `sudo` does.
#pragma once

#include <list>
#include <memory>

#include "agent/process_table.h"
#include "agent/sudo/ask.h"

namespace atl::agent {

class SudoDoor final {
 public:
  SudoDoor(os::Poller& poller, const Jail& jail, ProcessTable& processes);
  ~SudoDoor();

  // Only a box has a door; elsewhere this does nothing.
  Result<> open();
  // When somebody who has not yet asked is sent away; zero = nobody waits.
  Micros next_deadline() const;
  void send_away_the_silent();

 private:
  struct Visitor;

  void accept();
  void hear(Visitor& visitor);
  Result<> begin(Visitor& visitor, std::string_view bytes, std::vector<Fd> descriptors);
  void answer(Visitor& visitor, const sudo::Answer& answer);
  void leave(Visitor& visitor);

  os::Poller& poller_;
  const Jail& jail_;
  ProcessTable& processes_;
  Fd listener_;
  std::list<std::unique_ptr<Visitor>> visitors_;
};

}  // namespace atl::agent
