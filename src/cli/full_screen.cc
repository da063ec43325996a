#include "cli/full_screen.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <string>

#include "cli/output_pipe.h"

namespace atl::cli {
namespace {

constexpr char kCtrlC = 0x03, kCtrlZ = 0x1a, kQuit = 'q';
// The second screen, without the cursor; and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l", kLeave = "\033[?25h\033[?1049l";

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&set, number);
  }
  return set;
}

}  // namespace

Result<std::unique_ptr<FullScreen>> FullScreen::open() {
  std::unique_ptr<FullScreen> screen(new FullScreen());
  const sigset_t awaited = awaited_signals();
  screen->signals_ = Fd(signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!screen->signals_) return os_error("waiting for signals");
  if (const int failed = pthread_sigmask(SIG_BLOCK, &awaited, &screen->before_); failed != 0) {
    return os_error_from(failed, "holding signals back");
  }
  TRY_OK(screen->enter());
  return screen;
}

FullScreen::~FullScreen() {
  leave();
  if (signals_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Result<> FullScreen::enter() {
  if (isatty(STDIN_FILENO) == 1) {
    TRY(keys_, RawTerminal::enter());
  }
  is_entered_ = true;
  return print(kEnter);
}

void FullScreen::leave() {
  if (!is_entered_) return;
  is_entered_ = false;
  static_cast<void>(print(kLeave));
  keys_.reset();
}

Result<> FullScreen::show(std::string_view text) {
  std::string bytes = "\033[H";
  for (const char c : text) {
    if (c == '\n') bytes += "\033[K\r";
    bytes += c;
  }
  return print(bytes + "\033[J");
}

Result<> FullScreen::suspend() {
  leave();
  // With everybody in the pipeline, as the terminal does it; we stop when the signal gets through.
  sigset_t stop, blocked;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  kill(0, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &blocked);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  return enter();
}

Result<FullScreen::News> FullScreen::read_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return News::none;
  if (info.ssi_signo == SIGWINCH) return News::redraw;
  if (info.ssi_signo != SIGTSTP) return News::leave;
  TRY_OK(suspend());
  return News::redraw;
}

Result<FullScreen::News> FullScreen::read_keys() {
  char typed[64];
  const ssize_t got = read(STDIN_FILENO, typed, sizeof typed);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return News::none;
  if (got <= 0) return News::leave;
  for (const char key : std::string_view(typed, static_cast<size_t>(got))) {
    if (key == kQuit || key == kCtrlC) return News::leave;
    if (key != kCtrlZ) continue;
    TRY_OK(suspend());
    return News::redraw;
  }
  return News::none;
}

Result<FullScreen::News> FullScreen::wait(Millis patience) {
  const Micros until = system_clock().boot() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(until - system_clock().boot());
    if (left.count() <= 0) return News::none;
    pollfd sources[] = {{signals_.get(), POLLIN, 0}, {keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(sources, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return os_error("waiting for keys");
    }
    News news = News::none;
    if (sources[0].revents != 0) {
      TRY(news, read_signal());
    } else if (sources[1].revents != 0) {
      TRY(news, read_keys());
    }
    if (news != News::none) return news;
  }
}

}  // namespace atl::cli
