#include "native/launcher/box_starter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace atl::native {

Result<BoxStarter*> BoxStarter::create() {
  auto* starter = new BoxStarter;
  starter->done_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!starter->done_) return os_error("making an eventfd");
  // While there is no other thread the table of descriptors grows at once; later the kernel waits
  // for a grace period, many milliseconds.
  const Fd room(fcntl(starter->done_.get(), F_DUPFD_CLOEXEC, 2 * kNotForChildren));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // Signals are for the loop, which reads them from a descriptor.
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  pthread_t thread;
  const int failure = pthread_create(&thread, &attributes, serve, starter);
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  pthread_attr_destroy(&attributes);
  if (failure != 0) return os_error_from(failure, "starting a thread");
  return starter;
}

void* BoxStarter::serve(void* self) {
  auto& starter = *static_cast<BoxStarter*>(self);
  for (;;) {
    pthread_mutex_lock(&starter.mutex_);
    while (starter.launch_ == nullptr && starter.network_home_ < 0)
      pthread_cond_wait(&starter.wanted_, &starter.mutex_);
    const int home = std::exchange(starter.network_home_, -1);
    BoxLaunch* const launch = std::exchange(starter.launch_, nullptr);
    pthread_mutex_unlock(&starter.mutex_);
    if (home >= 0 && !starter.network_) starter.network_ = native::make_network(home);
    if (launch == nullptr) continue;
    if (launch->network != nullptr && !*launch->network)
      *launch->network = std::move(starter.network_);
    auto started = start_box(*launch);
    pthread_mutex_lock(&starter.mutex_);
    starter.started_ = std::move(started);
    pthread_mutex_unlock(&starter.mutex_);
    const uint64_t one = 1;
    static_cast<void>(write(starter.done_.get(), &one, sizeof one) == sizeof one);
  }
}

void BoxStarter::make_network(int home) {
  pthread_mutex_lock(&mutex_);
  network_home_ = home;
  pthread_cond_signal(&wanted_);
  pthread_mutex_unlock(&mutex_);
}

void BoxStarter::start(BoxLaunch& launch) {
  is_busy_ = true;
  pthread_mutex_lock(&mutex_);
  launch_ = &launch;
  pthread_cond_signal(&wanted_);
  pthread_mutex_unlock(&mutex_);
}

Result<StartedAgent> BoxStarter::take() {
  uint64_t count = 0;
  static_cast<void>(read(done_.get(), &count, sizeof count) == sizeof count);
  pthread_mutex_lock(&mutex_);
  auto started = *std::exchange(started_, std::nullopt);
  pthread_mutex_unlock(&mutex_);
  is_busy_ = false;
  return started;
}

}  // namespace atl::native
