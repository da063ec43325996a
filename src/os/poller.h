// The event loop of the single-threaded programs: epoll, and one deadline at a time.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace atl::os {

class Poller final {
 public:
  using Ready = std::function<void(uint32_t events)>;

  static Result<Poller> create();

  // Level-triggered. `ready` may add, change and remove any descriptor, its own too.
  Result<> add(int fd, uint32_t events, Ready ready);
  Result<> change(int fd, uint32_t events);
  void remove(int fd);
  // Like remove() for a descriptor that is closed next and has no duplicate: the kernel drops it by
  // itself.
  void forget(int fd) { watches_.erase(fd); }

  // Handles what is ready; waits until `deadline` on the boot clock at most (zero = for ever).
  Result<> wait(Micros deadline);

 private:
  explicit Poller(Fd epoll) : epoll_(std::move(epoll)) {}

  struct Watch {
    Ready ready;
    uint64_t serial;
  };

  Fd epoll_;
  // A serial per registration: an event that was fetched for a descriptor that has been closed and
  // reused meanwhile must not reach its successor.
  uint64_t next_serial_ = 1;
  std::map<int, std::shared_ptr<Watch>> watches_;
};

}  // namespace atl::os
