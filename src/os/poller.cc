#include "os/poller.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace atl::os {
namespace {

epoll_event make_event(int fd, uint64_t serial, uint32_t events) {
  epoll_event event{};
  event.events = events;
  // 2^32 registrations before a serial repeats.
  event.data.u64 = serial << 32 | static_cast<uint32_t>(fd);
  return event;
}

}  // namespace

Result<Poller> Poller::create() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return os_error("making an epoll instance");
  return Poller(std::move(epoll));
}

Result<> Poller::add(int fd, uint32_t events, Ready ready) {
  const uint64_t serial = next_serial_++ & 0xFFFFFFFF;
  auto event = make_event(fd, serial, events);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return os_error("watching a descriptor");
  watches_[fd] = std::make_shared<Watch>(std::move(ready), serial);
  return {};
}

Result<> Poller::change(int fd, uint32_t events) {
  auto event = make_event(fd, watches_.at(fd)->serial, events);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)
    return os_error("watching a descriptor");
  return {};
}

void Poller::remove(int fd) {
  if (watches_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Result<> Poller::wait(Micros deadline) {
  int timeout_ms = -1;
  if (deadline.count() > 0) {
    const auto left = deadline - system_clock().boot();
    // Rounded up, so that the deadline has passed when we wake for it.
    const int64_t millis = std::clamp<int64_t>((left.count() + 999) / 1000, 0, 60'000);
    timeout_ms = static_cast<int>(millis);
  }
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  if (count < 0 && errno != EINTR) return os_error("waiting for events");
  for (int i = 0; i < count; ++i) {
    const int fd = static_cast<int>(events[static_cast<size_t>(i)].data.u64 & 0xFFFFFFFF);
    const uint64_t serial = events[static_cast<size_t>(i)].data.u64 >> 32;
    const auto found = watches_.find(fd);
    if (found == watches_.end() || found->second->serial != serial) continue;
    const auto watch = found->second;  // kept alive while its callback removes it
    watch->ready(events[static_cast<size_t>(i)].events);
  }
  return {};
}

}  // namespace atl::os
