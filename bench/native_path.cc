// What a client waits for on the native sandbox, beside a bare process, in turns, so that both see
// the same machine. One kept-alive connection; bursts with a pause between them, in which what was
// taken from the sandboxes made ahead is made again.
//
//   bench_native_path KIND ADDRESS KEY COUNT BURST PAUSE_MS [PROGRAM ARGUMENT…]
//
// KIND is run (a sandbox for one command), create (a sandbox is made; removing it is not counted),
// exec (a command in a live sandbox). ADDRESS is a Unix socket or a port. The command is /bin/true
// if none is given. A sandbox that was parked is a hit, any other a miss; they are told apart. For
// python3 a hit is an interpreter that was started ahead. What bursts and pauses take of the
// processors is told beside it (processor_time.h).
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/http_client.h"
#include "bench/processor_time.h"
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

std::string json_array(const std::vector<std::string>& argv) {
  std::string text = "[";
  for (const auto& argument : argv) {
    text += text.size() > 1 ? ",\"" : "\"";
    for (const char c : argument) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return text + "]";
}

struct Client {
  Fd socket;
  std::string key;

  std::string call(const std::string& method, const std::string& path, const std::string& body) {
    return bench::round_trip(socket.get(), bench::make_request(method, path, body, key));
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const std::string kind = argv[1];
  Client client{bench::connect_to(argv[2]), argv[3]};
  const int count = std::atoi(argv[4]), burst = std::atoi(argv[5]), pause = std::atoi(argv[6]);
  std::vector<std::string> command(argv + 7, argv + argc);
  if (command.empty()) command = {"/bin/true"};

  const bool wants_warm = command[0] == "/usr/bin/python3";
  const std::string exec = "{\"argv\":" + json_array(command) + "}";
  std::string path = "/v1/runs", body = "{\"exec\":" + exec + "}", live;
  const char* wanted = "\"exit_code\":0";
  if (kind == "create") {
    path = "/v1/sandboxes";
    body = R"({"ttl_s":600})";
    wanted = "201 Created";
  } else if (kind == "exec") {
    const auto made = client.call("POST", "/v1/sandboxes", R"({"ttl_s":600})");
    expect(made, "201 Created");
    live = text_after(made, "id");
    path = "/v1/sandboxes/" + live + "/exec";
    body = exec;
  }
  const std::string request = bench::make_request("POST", path, body, client.key);

  bench::Series bare{"bare_us", {}}, hits{"hit_us", {}}, misses{"miss_us", {}};
  bench::ProcessorTime processors;
  for (int i = -burst; i < count; ++i) {
    if (i % burst == 0) {
      if (i > 0) {
        processors.end_burst(pause);
      } else {
        poll(nullptr, 0, pause);
      }
      if (i >= 0) processors.begin_burst();
    }
    const double alone = bench::spawn_and_wait(command);
    const auto start = std::chrono::steady_clock::now();
    const std::string answer = bench::round_trip(client.socket.get(), request);
    const double took = bench::micros_since(start);
    expect(answer, wanted);
    if (kind == "create") client.call("DELETE", path + "/" + text_after(answer, "id"), "");
    if (i < 0) continue;  // warming up
    bare.micros.push_back(alone);
    const bool is_miss = answer.find("\"name\":\"create\"") != std::string::npos ||
                         (wants_warm && answer.find("\"warm\":true") == std::string::npos);
    (is_miss ? misses : hits).micros.push_back(took);
  }
  processors.end_burst(pause);
  if (!live.empty()) client.call("DELETE", "/v1/sandboxes/" + live, "");
  std::vector<bench::Series> all = processors.series();
  all.insert(all.end(), {bare, hits, misses});
  bench::print(all);
  return 0;
}
