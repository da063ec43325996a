// conformance_probe: the program that the suite puts into a sandbox to try things from inside.
//
// Static and free of everything but libc, so that it runs in any Linux guest. An attempt prints
// "ok" or the name of the error; the test decides which of them is right.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/pattern.h"

namespace {

using atl::conformance::fill_pattern;

constexpr size_t kPiece = 64 * 1024;
constexpr int kRefused = 9;

int tell(long result) {
  if (result >= 0) {
    puts("ok");
  } else {
    puts(strerrorname_np(errno));
  }
  return 0;
}

bool write_all(int fd, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t put = write(fd, bytes, count);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes += put;
    count -= static_cast<size_t>(put);
  }
  return true;
}

// Writes the file whole or not at all, so that whoever waits for it never sees a part.
void announce(const char* path, uint64_t number) {
  char temporary[512];
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE* file = fopen(temporary, "w");
  if (file == nullptr) return;
  fprintf(file, "%llu\n", static_cast<unsigned long long>(number));
  fclose(file);
  rename(temporary, path);
}

int print_arguments(int count, char** values) {
  for (int i = 0; i < count; ++i) write_all(1, values[i], strlen(values[i]) + 1);
  return 0;
}

int print_environment() {
  for (char** entry = environ; *entry != nullptr; ++entry) write_all(1, *entry, strlen(*entry) + 1);
  return 0;
}

int output(uint64_t total, uint64_t from) {
  static char buffer[kPiece];
  for (uint64_t at = from; at < total;) {
    const size_t count = total - at < kPiece ? static_cast<size_t>(total - at) : kPiece;
    fill_pattern(buffer, at, count);
    if (!write_all(1, buffer, count)) return 1;
    at += count;
  }
  return 0;
}

// Writes as fast as it is taken; once nothing is taken for a while, says in `path` how much went
// out, and goes on.
int output_until_held(uint64_t total, const char* path) {
  static char buffer[kPiece];
  constexpr int kHeldMs = 300;
  const int flags = fcntl(1, F_GETFL);
  fcntl(1, F_SETFL, flags | O_NONBLOCK);
  uint64_t at = 0;
  while (at < total) {
    const size_t count = total - at < kPiece ? static_cast<size_t>(total - at) : kPiece;
    fill_pattern(buffer, at, count);
    const ssize_t put = write(1, buffer, count);
    if (put > 0) {
      at += static_cast<uint64_t>(put);
      continue;
    }
    pollfd room{1, POLLOUT, 0};
    if (errno != EAGAIN || poll(&room, 1, kHeldMs) == 0) break;
  }
  fcntl(1, F_SETFL, flags);
  announce(path, at);
  return output(total, at);
}

int allocate(size_t mebibytes) {
  for (size_t i = 0; i < mebibytes; ++i) {
    char* block = static_cast<char*>(malloc(1 << 20));
    if (block == nullptr) {
      printf("refused after %zu\n", i);
      return kRefused;
    }
    memset(block, 1, 1 << 20);
    asm volatile("" : : "r"(block) : "memory");  // or the compiler sees that nobody reads it
  }
  puts("ok");
  return 0;
}

// Until somebody ends it.
int hold(size_t mebibytes) {
  if (const int refused = allocate(mebibytes); refused != 0) return refused;
  fflush(stdout);
  for (;;) pause();
}

int spin(long milliseconds) {
  timespec used{};
  do {
    for (int i = 0; i < 100000; ++i) asm volatile("");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < milliseconds);
  return 0;
}

int open_many() {
  int opened = 0;
  while (opened < 100000 && open("/dev/null", O_RDONLY) >= 0) ++opened;
  printf("%d\n", opened);
  return 0;
}

int fork_many(int most) {
  int started = 0;
  for (; started < most; ++started) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
  printf("%d\n", started);
  fflush(stdout);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  while (wait(nullptr) > 0) {
  }
  return 0;
}

int print_descriptors() {
  for (int fd = 0; fd < 4096; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) printf("%d\n", fd);
  }
  return 0;
}

int open_socket(const char* family) {
  if (strcmp(family, "inet") == 0) return tell(socket(AF_INET, SOCK_STREAM, 0));
  if (strcmp(family, "inet6") == 0) return tell(socket(AF_INET6, SOCK_STREAM, 0));
  if (strcmp(family, "udp") == 0) return tell(socket(AF_INET, SOCK_DGRAM, 0));
  return tell(socket(AF_NETLINK, SOCK_RAW, 0));
}

// Connects and says hello in our own protocol, but without the token; prints what comes back.
int knock(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return tell(-1);
  const char hello[] = {4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  for (int i = 0; i < 4; ++i) send(fd, hello, sizeof hello, MSG_NOSIGNAL);
  pollfd answer{fd, POLLIN, 0};
  if (poll(&answer, 1, 5000) == 0) return puts("silence") < 0;
  char byte;
  return puts(recv(fd, &byte, 1, 0) == 1 ? "answered" : "closed") < 0;
}

// The state letter of a process and its parent; 0 if there is none.
char state_of(const char* pid, int* parent) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* end = strrchr(text, ')');
  char state = 0;
  if (end == nullptr || sscanf(end + 1, " %c %d", &state, parent) != 2) return 0;
  return state;
}

int print_living(int count, char** pids) {
  for (int i = 0; i < count; ++i) {
    int parent = 0;
    const char state = state_of(pids[i], &parent);
    if (state != 0 && state != 'Z' && state != 'X') puts(pids[i]);
  }
  return 0;
}

// Zombies whose parent is ours too: what the sandbox's first process has not collected.
int count_zombies() {
  int zombies = 0;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc == nullptr ? nullptr : readdir(proc)) {
    int parent = 0;
    if (state_of(entry->d_name, &parent) == 'Z' && parent == getppid()) ++zombies;
  }
  printf("%d\n", zombies);
  return proc == nullptr ? 1 : 0;
}

// A child, a grandchild, and an orphan in a session of its own; each says its pid in a file, then
// waits.
int raise_family(const char* directory) {
  const auto settle = [directory](const char* name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    announce(path, static_cast<uint64_t>(getpid()));
    for (;;) pause();
  };
  if (fork() == 0) {
    if (fork() == 0) settle("grandchild");
    settle("child");
  }
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    if (fork() == 0) settle("orphan");
    _exit(0);
  }
  waitpid(between, nullptr, 0);
  settle("first");
  return 0;
}

// What a user can leave where no file shows it: a segment and a queue of the kernel's, and a socket
// without a path. `make` leaves them and waits; otherwise tells which are there.
int traces(bool make, const char* ready) {
  constexpr key_t kKey = 0x41746f6c;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, "atoll-trace", 11);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 12);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (make) {
    shmget(kKey, 4096, IPC_CREAT | 0600);
    mq_open("/atoll-trace", O_CREAT | O_RDWR, 0600, nullptr);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 1) != 0)
      return 1;
    announce(ready, 1);
    for (;;) pause();
  }
  if (shmget(kKey, 4096, 0600) >= 0) puts("shm");
  if (mq_open("/atoll-trace", O_RDWR) != static_cast<mqd_t>(-1)) puts("mqueue");
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) puts("socket");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto is = [&](const char* verb, int arguments) {
    return argc >= 2 + arguments && strcmp(argv[1], verb) == 0;
  };
  const auto number = [&](int index) { return strtoull(argv[index], nullptr, 10); };
  if (is("arguments", 0)) return print_arguments(argc - 2, argv + 2);
  if (is("environment", 0)) return print_environment();
  if (is("output", 1)) return output(number(2), 0);
  if (is("output_until_held", 2)) return output_until_held(number(2), argv[3]);
  if (is("allocate", 1)) return allocate(number(2));
  if (is("hold", 1)) return hold(number(2));
  if (is("spin", 1)) return spin(static_cast<long>(number(2)));
  if (is("open_many", 0)) return open_many();
  if (is("fork_many", 1)) return fork_many(static_cast<int>(number(2)));
  if (is("descriptors", 0)) return print_descriptors();
  if (is("socket", 1)) return open_socket(argv[2]);
  if (is("knock", 1)) return knock(argv[2]);
  if (is("living", 0)) return print_living(argc - 2, argv + 2);
  if (is("zombies", 0)) return count_zombies();
  if (is("leave_traces", 1)) return traces(true, argv[2]);
  if (is("find_traces", 0)) return traces(false, nullptr);
  if (is("family", 1)) return raise_family(argv[2]);
  if (is("kill", 2)) return tell(kill(static_cast<pid_t>(number(2)), static_cast<int>(number(3))));
  if (is("die", 1)) return raise(static_cast<int>(number(2)));
  if (is("mount", 0)) return tell(mount("none", ".", "tmpfs", 0, nullptr));
  if (is("open", 1)) return tell(open(argv[2], O_RDONLY | O_CLOEXEC) < 0 ? -1 : 0);
  if (is("no_new_privs", 0)) return printf("%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)) < 0;
  if (is("unshare", 0)) return tell(unshare(CLONE_NEWUSER | CLONE_NEWNS));
  if (is("ptrace", 1))
    return tell(ptrace(PTRACE_ATTACH, static_cast<pid_t>(number(2)), nullptr, nullptr));
  fprintf(stderr, "conformance_probe: no such attempt\n");
  return 2;
}
