#include "tests/simulation/outside.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "tests/simulation/dice.h"

namespace atl::simulation::outside {
namespace {

struct State {
  Dice dice{0};
  Micros boot{0};
  WallTime wall{};
};

// The clock is asked before main() begins, too.
State& state() {
  static State one;
  return one;
}

double read_clock(clockid_t which) {
  timespec now{};
  syscall(SYS_clock_gettime, which, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

void begin(uint64_t seed) { state().dice = Dice(~seed); }

void set_time(Micros boot, WallTime wall) {
  state().boot = boot;
  state().wall = wall;
}

double seconds() { return read_clock(CLOCK_MONOTONIC); }
double processor_seconds() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace atl::simulation::outside

using atl::simulation::outside::state;

extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned int) {
  auto* const bytes = static_cast<unsigned char*>(buffer);
  for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
    const uint64_t thrown = state().dice.next();
    std::memcpy(bytes + done, &thrown, std::min(size - done, sizeof thrown));
  }
  return static_cast<ssize_t>(size);
}

extern "C" int clock_gettime(clockid_t which, timespec* out) noexcept {
  using namespace std::chrono;
  const nanoseconds now = which == CLOCK_REALTIME ? nanoseconds(state().wall.time_since_epoch())
                                                  : nanoseconds(state().boot);
  out->tv_sec = duration_cast<std::chrono::seconds>(now).count();
  out->tv_nsec = (now % std::chrono::seconds(1)).count();
  return 0;
}

// Without one, timers are looked at whenever the loop is, by the clock above.
extern "C" int timerfd_create(int, int) noexcept {
  errno = ENOSYS;
  return -1;
}

// Nothing of the kernel is waited for, so there is nothing to ask it.
extern "C" int epoll_wait(int, epoll_event*, int, int) { return 0; }
