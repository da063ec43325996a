// A child that is made before its plan is known. It waits where it will run, in the control groups
// of its command, so that starting it costs no more than waking it: moving a process into a group
// makes the kernel wait for all processors, which takes milliseconds on an idle machine.
//
// Like the child of exec_child.h it shares its parent's memory until it execs. It is cloned with
// CLONE_VFORK by a thread that does nothing else, for two reasons: the caller goes on meanwhile,
// and the kernel's memory killer passes over a child whose parent waits for its exec. It would
// otherwise take the parent along, because the two have one memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "native/child/exec_child.h"

namespace atl::native {

// One child at a time: the thread waits for the one that it has made. Thread and object last as
// long as the process, and the child dies with it.
class ParkedChild final {
 public:
  static Result<ParkedChild*> create();

  // Makes a child that joins these groups and waits. Returns at once; the descriptors stay open
  // until the child is ready. Only when is_free().
  void park(std::vector<int> joins);
  // There is no child, or it is of no use: it could not join, or somebody has killed it.
  bool is_free() const;
  // It waits in its groups.
  bool is_ready() const;
  pid_t pid() const { return pid_.load(); }

  // As spawn_child(), but for the groups. Only when is_ready().
  Result<pid_t> start(ChildPlan& plan);

 private:
  enum class State : uint32_t { none, joining, waiting, going, failed };

  ParkedChild() = default;
  static void* tend(void* self);
  static int wait_for_plan(void* self);

  char* stack_ = nullptr;
  std::vector<int> joins_;
  ChildPlan* plan_ = nullptr;
  std::atomic<pid_t> pid_{0};
  std::atomic<uint32_t> wanted_{0};  // counts the children that were asked for
  std::atomic<State> state_{State::none};
  std::atomic<uint32_t> here_{0};  // cleared by the kernel when the child leaves our memory
};

}  // namespace atl::native
