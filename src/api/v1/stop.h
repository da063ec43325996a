// Stop: lets somebody else end work that waits, such as following a process for a client that has left.
//
// Only for work whose every wait may be cut short: Process::next(), and writing to the client. A request to a guest that
// is cut short could leave half a message on its connection.
#pragma once

#include <memory>

#include "base/task.h"

namespace atl::api::v1 {

class Stop final {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void stop();
  bool stopped() const { return stopped_; }

 private:
  friend Task<> run_until(std::shared_ptr<Stop> stop, Task<> work);
  struct Signal;

  std::unique_ptr<Signal> signal_;
  bool stopped_ = false;
};

// What `work` gives, or Code::cancelled once stop() was called. One at a time per Stop.
Task<> run_until(std::shared_ptr<Stop> stop, Task<> work);

}  // namespace atl::api::v1
