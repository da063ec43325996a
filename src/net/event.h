// Event: lets coroutines wait until another one on the same thread says so.
#pragma once

#include <memory>

#include "net/byte_stream.h"

namespace atl::net {

class Event final {
 public:
  explicit Event(const asio::any_io_executor& executor);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Wakes everybody who waits; later waits return at once until reset().
  void set();
  void reset() { is_set_ = false; }
  bool is_set() const { return is_set_; }

  asio::awaitable<void> wait();
  // False if the deadline came first.
  asio::awaitable<bool> wait_until(TimePoint deadline);

 private:
  struct Timer;

  std::unique_ptr<Timer> timer_;
  bool is_set_ = false;
};

}  // namespace atl::net
