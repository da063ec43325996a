// POST …/exec of `true` over one kept-alive Unix socket, and posix_spawn of the same, alternating.
//
//   bench_http_exec SOCKET SANDBOX COUNT [SECONDS]
//
// After so many seconds it gives what it has.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/spawn.h"
#include "os/file.h"
#include "os/socket.h"

namespace {

using namespace atl;

// Sends a request and reads its whole answer, which has a Content-Length.
std::string round_trip(int socket, const std::string& request) {
  if (!os::write_all(socket, request)) std::abort();
  std::string answer;
  size_t wanted = std::string::npos;
  char buffer[65536];
  while (answer.size() < wanted) {
    const ssize_t got = read(socket, buffer, sizeof buffer);
    if (got <= 0) std::abort();
    answer.append(buffer, static_cast<size_t>(got));
    const size_t head = answer.find("\r\n\r\n");
    if (wanted != std::string::npos || head == std::string::npos) continue;
    const size_t length = answer.find("ontent-Length: ");
    if (length == std::string::npos || length > head) std::abort();
    wanted = head + 4 + std::strtoul(answer.c_str() + length + 15, nullptr, 10);
  }
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const int count = std::atoi(argv[3]);
  const double most_micros = argc == 5 ? std::atof(argv[4]) * 1e6 : INFINITY;
  const auto begin = std::chrono::steady_clock::now();
  auto socket = os::connect_at(AT_FDCWD, argv[1], os::SocketKind::stream);
  if (!socket) {
    std::fprintf(stderr, "%s\n", socket.error().message().c_str());
    return 1;
  }
  fcntl(socket->get(), F_SETFL, 0);  // blocking
  const std::string body = R"({"argv":["/bin/true"]})";
  const std::string request =
      "POST /v1/sandboxes/" + std::string(argv[2]) +
      "/exec HTTP/1.1\r\nHost: atoll\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  bench::Series exec{"http_exec_us", {}}, spawn{"posix_spawn_us", {}};
  for (int i = -count / 10; i < count && bench::micros_since(begin) < most_micros; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const std::string answer = round_trip(socket->get(), request);
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
