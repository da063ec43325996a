// Event: one thing that coroutines on the core loop wait for.
//
//   Event done(executor);
//   CO_TRY_OK(co_await done.wait());   // any number of waiters
//   done.fire();                       // wakes them all; whoever waits later does not wait at all
//
// Lives on one loop. A waiter keeps what it waits on alive, so an Event may go away before its
// waiters do; those that nobody can wake any more end with the loop.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/task.h"

namespace atl {

class Event final {
 public:
  explicit Event(const asio::any_io_executor& executor);

  void fire();
  bool fired() const;

  // Code::cancelled when the waiting coroutine is cancelled first.
  Task<> wait();
  // Code::deadline_exceeded when nothing came within `most`.
  Task<> wait_for(Millis most);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace atl
