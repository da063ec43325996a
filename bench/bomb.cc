// What a bad neighbour does, without end; see bench/neighbours.py. Prints a line once it has
// reached what it is about: as many processes as it gets, the first kill, all processors, a full
// disk.
//
//   bench_bomb fork | memory | cpu | disk
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

constexpr size_t kMib = 1 << 20;

// Only the first time is news, whoever of the bomb's processes has it.
class News final {
 public:
  News()
      : told_(static_cast<std::atomic<bool>*>(mmap(nullptr, sizeof(std::atomic<bool>),
                                                   PROT_READ | PROT_WRITE,
                                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (told_ == MAP_FAILED) std::abort();
  }
  // Told first and marked then: in between somebody else may get the processor for long.
  void tell(const char* what) {
    if (*told_) return;
    std::puts(what);
    std::fflush(stdout);
    *told_ = true;
  }

 private:
  std::atomic<bool>* told_;
};

// Every process goes on forking, however often it is refused.
[[noreturn]] void fork_bomb(News& news) {
  for (;;) {
    if (fork() < 0) news.tell("no more processes");
  }
}

[[noreturn]] void take_memory() {
  for (;;) {
    void* piece = mmap(nullptr, kMib, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (piece == MAP_FAILED) std::abort();
    std::memset(piece, 1, kMib);
  }
}

// The parent is small, so that the kernel takes the child.
[[noreturn]] void memory_bomb(News& news) {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) take_memory();
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
      news.tell("killed");
    }
  }
}

[[noreturn]] void cpu_bomb(News& news) {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) std::abort();
  for (int i = 1; i < CPU_COUNT(&processors); ++i) {
    if (fork() == 0) break;
  }
  news.tell("spinning");
  for (volatile unsigned turns = 0;; turns = turns + 1) {
  }
}

[[noreturn]] void disk_bomb(News& news) {
  const std::vector<char> block(kMib, 'x');
  for (;;) {
    const int file = open("fill", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) std::abort();
    while (write(file, block.data(), block.size()) > 0) {
    }
    if (errno != ENOSPC) std::abort();
    fsync(file);
    news.tell("full");
    close(file);
    unlink("fill");
  }
}

}  // namespace

int main(int argc, char** argv) {
  News news;
  const std::string_view kind = argc == 2 ? argv[1] : "";
  if (kind == "fork") fork_bomb(news);
  if (kind == "memory") memory_bomb(news);
  if (kind == "cpu") cpu_bomb(news);
  if (kind == "disk") disk_bomb(news);
  return 2;
}
