// A run of `true` and a sandbox on the native driver through libatoll, and posix_spawn of the same,
// in turns; bursts with a pause in which what was taken is made again.
//
//   bench_library LIBEXEC COUNT BURST PAUSE_MS
#include <atoll.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "bench/spawn.h"

using namespace atl;

int main(int argc, char** argv) try {
  if (argc != 5) return 2;
  const int count = std::atoi(argv[2]), burst = std::atoi(argv[3]), pause = std::atoi(argv[4]);
  libatoll::Host host({.parked = 64, .libexec = argv[1]});
  const libatoll::Settings native{.driver = "native"};

  bench::Series runs{"run_us", {}}, creates{"create_us", {}}, execs{"exec_us", {}},
      bare{"bare_us", {}};
  for (int i = -4 * burst; i < count; ++i) {
    if (i % burst == 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    const double alone = bench::spawn_true();
    auto start = std::chrono::steady_clock::now();
    const auto done = host.run({.argv = {"/bin/true"}}, native);
    const double ran = bench::micros_since(start);
    start = std::chrono::steady_clock::now();
    std::optional<libatoll::Sandbox> box(std::in_place, native, host);
    const double made = bench::micros_since(start);
    start = std::chrono::steady_clock::now();
    const auto executed = box->run({"/bin/true"});
    const double commanded = bench::micros_since(start);
    box.reset();
    if (!done.ok() || !executed.ok()) {
      std::fprintf(stderr, "a run ended with %s\n", done.reason.c_str());
      return 1;
    }
    if (i < 0) continue;  // warming up
    bare.micros.push_back(alone);
    runs.micros.push_back(ran);
    creates.micros.push_back(made);
    execs.micros.push_back(commanded);
  }
  bench::print({runs, creates, execs, bare});
  return 0;
} catch (const libatoll::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
