#include "bench/spawn.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

extern char** environ;

namespace atl::bench {

double spawn_true() {
  const auto start = std::chrono::steady_clock::now();
  char name[] = "true";
  char* argv[] = {name, nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, "/bin/true", nullptr, nullptr, argv, environ) != 0) std::abort();
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
