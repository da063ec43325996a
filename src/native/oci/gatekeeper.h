// What stands around a sandbox with a second kernel, as the first process of the box that the
// launcher makes for it: it starts the runtime, hands the agent inside what the launcher gave, and
// brings it every connection. It is there for as long as the sandbox is, whatever becomes of the
// daemon; the box's namespaces end everything with it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "native/box_facts.h"
#include "native/oci/runtime.h"
#include "os/poller.h"

namespace atl::native {

class Gatekeeper final {
 public:
  // Takes over the descriptors of native/agent_places.h and box_facts.h. Returns when somebody has
  // been told of the sandbox: until then the launcher may still be making it.
  static Result<std::unique_ptr<Gatekeeper>> create();

  // Until the agent has ended; returns the exit code.
  int run();

 private:
  Gatekeeper(os::Poller poller, Fd signals);

  Result<> open(BoxFacts facts, std::string token);
  Result<> hand_in(const BoxFacts& facts, const std::string& token);
  void on_signal();
  void on_gate();
  void on_messages();
  void bring_connection();
  void refuse(const Error& error);

  os::Poller poller_;
  Fd signals_;
  Fd connection_;  // until the agent is there to answer on it
  Fd listener_;
  Fd gate_;
  StartedRuntime runtime_;
  std::string said_;    // the end of it
  Micros deadline_{0};  // for the agent to be there; zero = it is
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace atl::native
