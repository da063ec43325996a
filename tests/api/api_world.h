// The API over a real HTTP server and an engine over a fake host: what a client sees, without a
// daemon.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/api.h"
#include "base/fake_clock.h"
#include "base/run_task.h"
#include "core/keys.h"
#include "driver/fake_driver.h"
#include "json/value.h"
#include "net/http_client.h"
#include "store/memory_store.h"
#include "telemetry/metrics.h"
#include "telemetry/tracer.h"

namespace atl {

struct Answer {
  int status = 0;
  net::Headers headers;
  std::string body;

  std::string header(std::string_view name) const { return std::string(headers.get(name)); }
  // The whole body, or null if it is no JSON.
  json::Value json() const;
  // A member of it as text: strings as they are, everything else as JSON; "" when it is missing.
  std::string operator[](std::string_view member) const;
};

// A streamed answer that is read as it comes.
class Streaming final {
 public:
  Streaming(class ApiWorld& world, std::unique_ptr<net::ClientCall> call)
      : world_(world), call_(std::move(call)) {}

  int status() const { return call_->head().status; }
  std::string line();            // without its newline; "" at the end
  std::string frame(int& kind);  // of application/vnd.atoll.stream; kind -1 at the end
  std::string rest();
  void leave() { call_.reset(); }  // as a client that goes away

 private:
  bool fill();

  class ApiWorld& world_;
  std::unique_ptr<net::ClientCall> call_;
  std::string buffer_;
};

class ApiWorld {
 public:
  // `prepare` sets what the host can do, before the engine asks it.
  explicit ApiWorld(api::ApiOptions options = {},
                    const std::function<void(FakeHost&)>& prepare = {});
  ~ApiWorld();

  // Over TCP with the administrator's key, unless the headers have another.
  Answer call(net::Method method, std::string target, std::string body = "",
              net::Headers headers = {});
  Answer get(std::string target) { return call(net::Method::get, std::move(target)); }
  Answer post(std::string target, std::string body = "") {
    return call(net::Method::post, std::move(target), std::move(body));
  }
  // Over TCP, with nothing but these headers.
  Answer bare(net::Method method, std::string target, net::Headers headers = {});
  // Over the Unix socket, without a key.
  Answer local(net::Method method, std::string target, std::string body = "");
  // Bytes as they are, until the server closes.
  std::string raw(std::string bytes, net::Peer peer = {});
  // Bytes, and then the client is gone.
  void raw_cut(std::string bytes);
  const std::string& key() const { return key_; }

  std::unique_ptr<Streaming> stream(net::Method method, std::string target, std::string body,
                                    std::string accept);

  // Sends and does not wait; dropping it is the client's leaving.
  std::unique_ptr<net::ClientCall> begin(net::Method method, std::string target, std::string body);

  // A sandbox that runs; its id.
  std::string create(std::string body = "{}");
  std::string make_key(std::string tenant, Role role = Role::member);
  std::string user_key() { return make_key("acme"); }  // of another tenant

  template <typename T>
  Result<T> run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  // Lets everything go on until it holds; false if it never does.
  template <typename Condition>
  bool wait_until(Condition holds) {
    loop_.restart();
    while (!holds()) {
      if (loop_.run_one_for(std::chrono::seconds(10)) == 0) return false;
    }
    return true;
  }

  FakeHost& host() { return *host_; }
  FakeClock& clock() { return clock_; }
  Engine& engine() { return *engine_; }

  std::vector<Ending> shutdowns;
  telemetry::Metrics metrics;

 private:
  Answer send(const net::Endpoint& endpoint, net::ClientRequest request);

  FakeClock clock_;
  telemetry::Tracer tracer_{clock_};
  asio::io_context loop_;
  std::shared_ptr<FakeHost> host_;
  store::MemoryStore store_{loop_.get_executor()};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Keys> keys_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<net::HttpClient> client_;
  std::string key_;
  std::string directory_;
  net::Endpoint tcp_;
  net::Endpoint unix_;
};

}  // namespace atl
