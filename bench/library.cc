// libatoll beside posix_spawn, in turns: a run of `true`, a sandbox that becomes ready, and `true`
// in one that lives, all on the native driver. Bursts with a pause in which what was taken is made
// again.
//
//   bench_library LIBEXEC COUNT BURST PAUSE_MS
#include <atoll.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <thread>

#include "bench/spawn.h"

using namespace atl;

namespace {

struct Pace {
  int count, burst, pause_ms;
};

void check(const libatoll::Outcome& outcome) {
  if (outcome.ok()) return;
  std::fprintf(stderr, "a run ended with %s\n", outcome.reason.c_str());
  std::exit(1);
}

// `in_pause` is not timed.
void measure(
    const Pace& pace, bench::Series& ours, bench::Series& bare, const std::function<void()>& once,
    const std::function<void()>& in_pause = [] {}) {
  for (int i = -4 * pace.burst; i < pace.count; ++i) {
    if (i % pace.burst == 0) {
      in_pause();
      std::this_thread::sleep_for(std::chrono::milliseconds(pace.pause_ms));
    }
    const double alone = bench::spawn_true();
    const auto start = std::chrono::steady_clock::now();
    once();
    const double took = bench::micros_since(start);
    if (i < 0) continue;  // warming up
    bare.micros.push_back(alone);
    ours.micros.push_back(took);
  }
  in_pause();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) return 2;
  const Pace pace{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
  libatoll::Host host({.parked = 64, .libexec = argv[1]});
  const libatoll::Settings native{.driver = "native"};
  bench::Series runs{"run_us", {}}, creates{"create_us", {}}, execs{"exec_us", {}};
  // Of each its own: the machine is not the same all along.
  bench::Series beside_runs{"bare_run_us", {}}, beside_creates{"bare_create_us", {}},
      beside_execs{"bare_exec_us", {}};

  measure(pace, runs, beside_runs, [&] { check(host.run({.argv = {"/bin/true"}}, native)); });
  std::list<libatoll::Sandbox> boxes;
  measure(
      pace, creates, beside_creates, [&] { boxes.emplace_back(native, host); },
      [&] { boxes.clear(); });
  libatoll::Sandbox box(native, host);
  measure(pace, execs, beside_execs, [&] { check(box.run({"/bin/true"})); });
  bench::print({runs, creates, execs, beside_runs, beside_creates, beside_execs});
  return 0;
} catch (const libatoll::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
