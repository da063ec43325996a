// A thread that does nothing but start sandboxes, one after the other, while the loop goes on
// serving: the clone returns only when all mounts are made and the agent is executed, and that
// takes milliseconds. See native/child/box_child.h.
#pragma once

#include <pthread.h>

#include <memory>
#include <optional>

#include "base/fd.h"
#include "native/child/box_child.h"

namespace atl::native {

// Lasts as long as the process, and so does its thread.
class BoxStarter final {
 public:
  static Result<BoxStarter*> create();

  // Readable once the start has ended; then take() tells how.
  int done() const { return done_.get(); }
  bool is_busy() const { return is_busy_; }
  // For the next start, which needs one: a new network takes as long as the groups and ids that are
  // made meanwhile.
  void make_network(int home);
  // Only when it is not busy. What `launch` points at stays as it is until take().
  void start(BoxLaunch& launch);
  Result<StartedAgent> take();

 private:
  BoxStarter() = default;
  static void* serve(void* self);

  Fd done_;
  bool is_busy_ = false;  // only the loop's
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wanted_ = PTHREAD_COND_INITIALIZER;
  BoxLaunch* launch_ = nullptr;
  int network_home_ = -1;
  Fd network_;  // the thread's alone
  std::optional<Result<StartedAgent>> started_;
};

}  // namespace atl::native
