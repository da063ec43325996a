// POST …/exec of `true` over one kept-alive Unix socket, and posix_spawn of the same, alternating.
//
//   bench_http_exec SOCKET SANDBOX COUNT [SECONDS]
//
// After so many seconds it gives what it has.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/http_client.h"
#include "bench/spawn.h"

using namespace atl;

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const int count = std::atoi(argv[3]);
  const double most_micros = argc == 5 ? std::atof(argv[4]) * 1e6 : INFINITY;
  const auto begin = std::chrono::steady_clock::now();
  const Fd socket = bench::connect_to(argv[1]);
  const std::string request = bench::make_request(
      "POST", "/v1/sandboxes/" + std::string(argv[2]) + "/exec", R"({"argv":["/bin/true"]})");
  bench::Series exec{"http_exec_us", {}}, spawn{"posix_spawn_us", {}};
  for (int i = -count / 10; i < count && bench::micros_since(begin) < most_micros; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::string answer = bench::round_trip(socket.get(), request);
    const double took = bench::micros_since(start);
    if (answer.find("\"exit_code\":0") == std::string::npos) {
      std::fprintf(stderr, "%s\n", answer.c_str());
      return 1;
    }
    const double bare = bench::spawn_true();
    if (i < 0) continue;
    exec.micros.push_back(took);
    spawn.micros.push_back(bare);
  }
  bench::print({exec, spawn});
  return 0;
}
