// Runs test scripts that nobody vouched for, each in a sandbox that holds nothing but it.
//
//   c++ -std=c++20 test_runner.cc -latoll && ./a.out FILE.py…
#include <atoll.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char** argv) try {
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    if (!file) {
      std::fprintf(stderr, "%s cannot be read\n", argv[i]);
      return 2;
    }
    libatoll::Sandbox box({.memory_mb = 256, .pids = 64, .warm = "python3"});
    box.write("test.py", text);
    const auto done =
        box.run({.argv = {"python3", "test.py"}, .timeout = std::chrono::seconds(10)});
    const double millis = static_cast<double>(done.duration.count()) / 1000;
    std::printf("%-8s %s (%.1f ms)\n",
                done.ok()                 ? "ok"
                : done.reason == "exited" ? "FAILED"
                                          : done.reason.c_str(),
                argv[i], millis);
    if (!done.ok()) std::fputs(done.err.c_str(), stderr);
    failed += done.ok() ? 0 : 1;
  }
  return failed == 0 ? 0 : 1;
} catch (const libatoll::Error& error) {
  std::fprintf(stderr, "%s\n%s\n", error.what(), error.hint().c_str());
  return 1;
}
