// Delay: something that is done a while later, on the core loop, unless it is put off again.
//
//   Delay tidying(executor);
//   tidying.after(Millis(5), [this] { tidy(); });   // what was to be done before is forgotten
//
// Destroying it forgets what it was to do.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/task.h"

namespace atl {

class Delay final {
 public:
  explicit Delay(const asio::any_io_executor& executor);
  ~Delay();

  // At once, before this returns, if the time is zero.
  void after(Micros time, std::function<void()> then);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace atl
