// The inner loop of reinforcement learning from unit tests: many candidate programs, each run in a
// sandbox of its own, some at a time; the reward is what passes.
//
//   c++ -std=c++20 reward_loop.cc -latoll && ./a.out [CANDIDATES]
#include <atoll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// What a model would have written: every third one is right, and some never end.
std::string candidate(int number) {
  if (number % 7 == 6) return "def add(a, b):\n    while True: pass\n";
  return number % 3 == 0 ? "def add(a, b):\n    return a + b\n"
                         : "def add(a, b):\n    return a - b\n";
}

constexpr const char* kTests = "\nassert add(2, 3) == 5\nassert add(-1, 1) == 0\n";

}  // namespace

int main(int argc, char** argv) try {
  const int count = argc > 1 ? std::atoi(argv[1]) : 60;
  std::vector<libatoll::Command> commands;
  for (int i = 0; i < count; ++i) {
    commands.push_back({.argv = {"python3", "-c", candidate(i) + kTests},
                        .timeout = std::chrono::seconds(2),
                        .cpu_time = std::chrono::milliseconds(200)});
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = libatoll::Host::shared().run_all(std::move(commands));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;

  int passed = 0, endless = 0;
  for (const auto& outcome : outcomes) {
    passed += outcome.ok() ? 1 : 0;
    endless += outcome.reason == "timeout" ? 1 : 0;
  }
  std::printf("%d of %d candidates passed, %d never ended; %.1f per second\n", passed, count,
              endless, count / took.count());
  return 0;
} catch (const libatoll::Error& error) {
  std::fprintf(stderr, "%s\n%s\n", error.what(), error.hint().c_str());
  return 1;
}
