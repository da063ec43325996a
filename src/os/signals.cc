#include "os/signals.h"

#include <signal.h>
#include <sys/signalfd.h>

namespace atl::os {

Result<Fd> take_signals(std::span<const int> numbers) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : numbers) sigaddset(&mask, number);
  if (sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return os_error("blocking signals");
  signal(SIGPIPE, SIG_IGN);
  Fd fd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return os_error("making a signalfd");
  return fd;
}

}  // namespace atl::os
