// What stands around a sandbox with a second kernel, as the first process of the box that the
// launcher makes for it: it starts the runtime, hands the agent inside what the launcher gave, and
// brings it every connection. It is there for as long as the sandbox is, whatever becomes of the
// daemon; the box's namespaces end everything with it. It keeps the sandbox as it is, and lets one
// go on that was kept, when it is called for that (native/keeper_call.h).
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "native/box_facts.h"
#include "native/oci/runtime.h"
#include "os/poller.h"

namespace atl::native {

// For an agent to go on from an image, which is read first.
constexpr auto kTakeUpPatience = std::chrono::minutes(2);

class Gatekeeper final {
 public:
  // Takes over the descriptors of native/agent_places.h and box_facts.h. Returns when somebody has
  // been told of the sandbox: until then the launcher may still be making it.
  static Result<std::unique_ptr<Gatekeeper>> create();

  // Until the agent has ended; returns the exit code.
  int run();

 private:
  Gatekeeper(os::Poller poller, Fd signals);

  Result<> open();
  // What is to go on; empty = a new sandbox.
  Result<Fd> take_image();
  Result<> start(int image);
  Result<> hand_in();
  void on_signal();
  void on_gate();
  void on_messages();
  void take_connection();
  void on_arrived(int number);
  void refuse(const Error& error);
  std::string what_was_said() const;

  // gatekeeper_keeps.cc
  void on_keep(const Fd& caller);
  Result<uint64_t> keep(int image);
  Result<> make_agent_rest();
  Result<> save(int image);
  Result<> go_on(int image);
  Result<> wake_agent();
  Result<> wait_for_word(Micros deadline);

  os::Poller poller_;
  Fd signals_;
  Fd connection_;  // until the agent is there to answer on it
  Fd listener_;
  Fd config_;
  BoxFacts facts_;
  std::string token_;
  RuntimeGroups groups_;
  std::map<int, Fd> arriving_;  // connections that have not said yet whom they are for
  Fd gate_;
  StartedRuntime runtime_;
  std::string said_;    // the end of it
  Micros deadline_{0};  // for the agent to be there; zero = it is
  bool is_taken_up_ = false;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace atl::native
