// What a client waits for on the native sandbox, beside a bare process, alternating so that all see
// the same machine: a run of `true` over a Unix socket and over TCP, a sandbox made, a command in a
// live one.
//
//   bench_native_path SOCKET PORT KEY COUNT [RUN_BODY]
//
// The stages that the engine tells of itself go along. Every sandbox that it makes it removes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "bench/http_client.h"
#include "bench/spawn.h"

using namespace atl;

namespace {

// The text between the quotes after `"name":"`.
std::string text_after(const std::string& answer, const std::string& name) {
  const size_t at = answer.find("\"" + name + "\":\"");
  if (at == std::string::npos) return "";
  const size_t from = at + name.size() + 4;
  return answer.substr(from, answer.find('"', from) - from);
}

void expect(const std::string& answer, const char* what) {
  if (answer.find(what) != std::string::npos) return;
  std::fprintf(stderr, "no %s in: %s\n", what, answer.c_str());
  std::exit(1);
}

double timed(int socket, const std::string& request, const char* wanted, std::string* answer) {
  const auto start = std::chrono::steady_clock::now();
  *answer = bench::round_trip(socket, request);
  const double took = bench::micros_since(start);
  expect(*answer, wanted);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  const std::string key = argv[3];
  const int count = std::atoi(argv[4]);
  const std::string body = argc == 6 ? argv[5] : R"({"exec":{"argv":["/bin/true"]}})";
  const Fd near = bench::connect_to(argv[1]), far = bench::connect_to(argv[2]);
  const auto run_near = bench::make_request("POST", "/v1/runs", body);
  const auto run_far = bench::make_request("POST", "/v1/runs", body, key);
  const auto create = bench::make_request("POST", "/v1/sandboxes", R"({"ttl_s":600})");
  const auto path = [](const std::string& id) { return "/v1/sandboxes/" + id; };

  std::string answer;
  timed(near.get(), create, "201 Created", &answer);
  const std::string live = text_after(answer, "id");
  const auto exec = bench::make_request("POST", path(live) + "/exec", R"({"argv":["/bin/true"]})");

  bench::Series bare{"bare_us", {}}, unix_run{"run_unix_us", {}}, tcp_run{"run_tcp_us", {}};
  bench::Series made{"create_us", {}}, executed{"exec_us", {}}, removed{"delete_us", {}};
  std::string last_run;
  for (int i = -count / 10; i < count; ++i) {
    const double t_bare = bench::spawn_true();
    const double t_unix = timed(near.get(), run_near, "\"exit_code\":0", &last_run);
    const double t_tcp = timed(far.get(), run_far, "\"exit_code\":0", &answer);
    const double t_exec = timed(near.get(), exec, "\"exit_code\":0", &answer);
    const double t_create = timed(near.get(), create, "201 Created", &answer);
    const auto end = bench::make_request("DELETE", path(text_after(answer, "id")), "");
    const double t_delete = timed(near.get(), end, " 20", &answer);
    if (i < 0) continue;  // warming up
    bare.micros.push_back(t_bare);
    unix_run.micros.push_back(t_unix);
    tcp_run.micros.push_back(t_tcp);
    executed.micros.push_back(t_exec);
    made.micros.push_back(t_create);
    removed.micros.push_back(t_delete);
  }
  bench::round_trip(near.get(), bench::make_request("DELETE", path(live), ""));
  bench::print({bare, unix_run, tcp_run, executed, made, removed});
  std::fprintf(stderr, "%s\n", last_run.c_str());
  return 0;
}
