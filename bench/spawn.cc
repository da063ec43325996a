#include "bench/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

extern char** environ;

namespace atl::bench {

double spawn_true() { return spawn_and_wait({"/bin/true"}); }

double spawn_and_wait(const std::vector<std::string>& command) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<char*> argv;
  for (const auto& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  static posix_spawn_file_actions_t actions;
  static const int quiet = [] {
    posix_spawn_file_actions_init(&actions);
    return posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  }();
  pid_t pid = 0;
  if (quiet != 0 || posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0)
    std::abort();
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || status != 0) std::abort();
  return micros_since(start);
}

void print(const std::vector<Series>& all) {
  std::printf("{");
  for (size_t i = 0; i < all.size(); ++i) {
    std::printf("%s\"%s\": [", i == 0 ? "" : ", ", all[i].name);
    for (size_t k = 0; k < all[i].micros.size(); ++k)
      std::printf("%s%.2f", k == 0 ? "" : ",", all[i].micros[k]);
    std::printf("]");
  }
  std::printf("}\n");
}

}  // namespace atl::bench
