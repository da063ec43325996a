// libatoll beside posix_spawn, in turns: a run of `true`, a sandbox that becomes ready, and `true`
// in one that lives, all on the native driver. Bursts with a pause in which what was taken is made
// again; a sandbox that was made ahead is a hit, any other a miss, and they are told apart.
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

// Whether it found a sandbox that had been made ahead.
bool check(const libatoll::Outcome& outcome) {
  if (outcome.ok()) return outcome.made_ahead;
  std::fprintf(stderr, "a run ended with %s\n", outcome.reason.c_str());
  std::exit(1);
}

struct Figure {
  bench::Series hits, misses, bare;  // bare of each its own: the machine is not the same all along
};

// `once` tells whether it was a hit; `in_pause` is not timed.
void measure(
    const Pace& pace, Figure& figure, const std::function<bool()>& once,
    const std::function<void()>& in_pause = [] {}) {
  for (int i = -4 * pace.burst; i < pace.count; ++i) {
    if (i % pace.burst == 0) {
      in_pause();
      std::this_thread::sleep_for(std::chrono::milliseconds(pace.pause_ms));
    }
    const double alone = bench::spawn_true();
    const auto start = std::chrono::steady_clock::now();
    const bool is_hit = once();
    const double took = bench::micros_since(start);
    if (i < 0) continue;  // warming up
    figure.bare.micros.push_back(alone);
    (is_hit ? figure.hits : figure.misses).micros.push_back(took);
  }
  in_pause();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) return 2;
  const Pace pace{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
  libatoll::Host host({.parked = 64, .libexec = argv[1]});
  const libatoll::Settings native{.driver = "native"};
  Figure runs{{"run_hit_us", {}}, {"run_miss_us", {}}, {"run_bare_us", {}}};
  Figure creates{{"create_hit_us", {}}, {"create_miss_us", {}}, {"create_bare_us", {}}};
  Figure execs{{"exec_hit_us", {}}, {"exec_miss_us", {}}, {"exec_bare_us", {}}};

  measure(pace, runs, [&] { return check(host.run({.argv = {"/bin/true"}}, native)); });
  std::list<libatoll::Sandbox> boxes;
  measure(
      pace, creates, [&] { return boxes.emplace_back(native, host).made_ahead(); },
      [&] { boxes.clear(); });
  libatoll::Sandbox box(native, host);
  measure(pace, execs, [&] {
    check(box.run({"/bin/true"}));
    return true;  // nothing is asked for that could have been made ahead
  });
  bench::print({runs.hits, runs.misses, runs.bare, creates.hits, creates.misses, creates.bare,
                execs.hits, execs.misses, execs.bare});
  return 0;
} catch (const libatoll::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
