// Many clients at once on the native sandbox, or as many bare processes.
//
//   bench_native_load runs  SOCKET CLIENTS SECONDS   runs of /bin/true, one after another per
//   client bench_native_load bare  -      CLIENTS SECONDS   posix_spawn of the same
//   bench_native_load burst SOCKET CLIENTS 1         one sandbox per client, all asked for at once
//
// Prints the microseconds of each, the seconds of all and how many failed.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/http_client.h"
#include "bench/spawn.h"

using namespace atl;

namespace {

struct Load {
  std::string kind, address;
  double seconds = 0;
  std::mutex mutex;
  std::vector<double> micros;
  std::vector<std::string> made;
  std::atomic<int> failures = 0;
};

void keep(Load& load, double took) {
  const std::lock_guard lock(load.mutex);
  load.micros.push_back(took);
}

std::string id_in(const std::string& answer) {
  const size_t at = answer.find("\"id\":\"");
  return at == std::string::npos ? "" : answer.substr(at + 6, answer.find('"', at + 6) - at - 6);
}

void work(Load& load, std::barrier<>& start) {
  Fd socket = load.kind == "bare" ? Fd() : bench::connect_to(load.address);
  const bool is_burst = load.kind == "burst";
  const auto request =
      is_burst ? bench::make_request("POST", "/v1/sandboxes", R"({"ttl_s":600})")
               : bench::make_request("POST", "/v1/runs", R"({"exec":{"argv":["/bin/true"]}})");
  start.arrive_and_wait();
  const auto begin = std::chrono::steady_clock::now();
  do {
    if (load.kind == "bare") {
      keep(load, bench::spawn_true());
      continue;
    }
    const auto before = std::chrono::steady_clock::now();
    const std::string answer = bench::round_trip(socket.get(), request);
    const double took = bench::micros_since(before);
    const char* wanted = is_burst ? "201 Created" : "\"exit_code\":0";
    if (answer.find(wanted) == std::string::npos) {
      ++load.failures;
      continue;
    }
    keep(load, took);
    if (!is_burst) continue;
    const std::lock_guard lock(load.mutex);
    load.made.push_back(id_in(answer));
  } while (!is_burst && bench::micros_since(begin) < load.seconds * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Load load;
  load.kind = argv[1];
  load.address = argv[2];
  const int clients = std::atoi(argv[3]);
  load.seconds = std::atof(argv[4]);
  std::barrier start(clients + 1);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(clients));
  for (int i = 0; i < clients; ++i) threads.emplace_back([&] { work(load, start); });
  start.arrive_and_wait();
  const auto begin = std::chrono::steady_clock::now();
  for (auto& thread : threads) thread.join();
  const double seconds = bench::micros_since(begin) / 1e6;
  if (!load.made.empty()) {
    const Fd socket = bench::connect_to(load.address);
    for (const auto& id : load.made)
      bench::round_trip(socket.get(), bench::make_request("DELETE", "/v1/sandboxes/" + id, ""));
  }
  std::printf("{\"seconds\": %.3f, \"failures\": %d, \"micros\": [", seconds, load.failures.load());
  for (size_t i = 0; i < load.micros.size(); ++i)
    std::printf("%s%.1f", i == 0 ? "" : ",", load.micros[i]);
  std::printf("]}\n");
  return 0;
}
