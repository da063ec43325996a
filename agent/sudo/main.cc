// atoll-sudo: what `sudo` is inside a sandbox. It has no rights of its own: it asks the agent,
// which runs the command (door.h), passes signals on, and ends as the command did.
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "agent/sudo/line.h"
#include "base/fd.h"
#include "base/text.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::sudo {
namespace {

constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
constexpr int kFailed = 1;

int fail(const Error& error) {
  std::fprintf(stderr, "sudo: %s\n", error.message().c_str());
  return kFailed;
}

// The sandbox's list of users, read as a file: the C library's own lookup loads plug-ins.
std::string name_of(uid_t uid) {
  const auto text = os::read_file(AT_FDCWD, "/etc/passwd", 1 << 20);
  for (const auto& line : text ? split(*text, '\n') : std::vector<std::string>()) {
    const auto fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == std::to_string(uid)) return fields[0];
  }
  return std::to_string(uid);
}

Caller who_calls() {
  Caller caller{name_of(getuid()), getuid(), getgid(), {}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != 0 && equals != std::string_view::npos)
      caller.env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return caller;
}

Result<Fd> knock() {
  Fd door(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!door) return os_error("making a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, kDoor.data(), kDoor.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + kDoor.size());
  while (connect(door.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno == EINTR) continue;
    return os_error("asking the sandbox's agent");
  }
  return door;
}

Result<> send_ask(const Fd& door, const Ask& ask) {
  const std::string bytes = encode(ask);
  if (bytes.size() > kLargestAsk) {
    return Error(Code::too_large,
                 "the command line and the environment have more than 128 KiB together");
  }
  Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  Fd here(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!here) here = Fd(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  int passed[kDescriptors] = {0, 1, 2, here.get()};
  for (int i = 0; i < 3; ++i) {
    if (fcntl(i, F_GETFD) < 0) passed[i] = null.get();
  }
  TRY_OK(os::send_some(door.get(), bytes, passed));
  return {};
}

Result<Answer> wait_for_answer(const Fd& door, const Fd& signals) {
  pollfd watched[] = {{door.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
  for (;;) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return os_error("waiting");
    signalfd_siginfo info{};
    if ((watched[1].revents & POLLIN) != 0 &&
        read(signals.get(), &info, sizeof info) == sizeof info) {
      const char number = static_cast<char>(info.ssi_signo);
      static_cast<void>(os::send_some(door.get(), std::string_view(&number, 1)));
    }
    if (watched[0].revents == 0) continue;
    char buffer[16 * 1024];
    TRY(const auto received, os::receive_some(door.get(), buffer));
    if (received.bytes == 0) return Error(Code::unavailable, "the sandbox's agent gives no answer");
    return decode_answer(std::string_view(buffer, received.bytes));
  }
}

// Dies as the command did, so that the caller sees the same; without a core of our own.
[[noreturn]] void die_by(int number) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(number);
  _exit(128 + number);
}

int run(const Ask& ask) {
  sigset_t passed;
  sigemptyset(&passed);
  for (const int number : kPassedOn) {
    // Who ignores one, as nohup does, wants that for the command, too.
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&passed, number);
  }
  sigprocmask(SIG_BLOCK, &passed, nullptr);
  const Fd signals(signalfd(-1, &passed, SFD_CLOEXEC));
  const auto door = knock();
  if (!door) return fail(door.error());
  if (auto sent = send_ask(*door, ask); !sent) return fail(sent.error());
  const auto answer = wait_for_answer(*door, signals);
  if (!answer) return fail(answer.error());
  if (!answer->refused.empty()) return fail(Error(Code::permission_denied, answer->refused));
  if (answer->signal > 0 && answer->signal <= 64) die_by(answer->signal);
  return answer->exit_code & 255;
}

}  // namespace
}  // namespace atl::sudo

int main(int argc, char** argv) {
  using namespace atl::sudo;
  const auto line = parse_line({argv + (argc > 0 ? 1 : 0), argv + argc}, who_calls());
  if (!line) return fail(line.error());
  if (line->wish == Wish::tell) std::fputs(line->text.c_str(), stdout);
  return line->wish == Wish::run ? run(line->ask) : 0;
}
