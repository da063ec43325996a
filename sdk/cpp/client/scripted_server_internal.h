// ScriptedServer: an HTTP server that answers one request after the other as a test has written
// down, and remembers what it was asked.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "client/connection.h"
#include "net/http_server.h"

namespace atl::client {

struct ScriptedAnswer {
  int status = 200;
  std::string body;
  bool is_cut = false;  // the connection breaks behind the body
  std::string etag;
};

class ScriptedServer final : public net::Handler {
 public:
  explicit ScriptedServer(std::deque<ScriptedAnswer> script)
      : script_(std::move(script)), server_(loop.get_executor(), *this) {
    const auto port = server_.listen_tcp("127.0.0.1", 0);
    EXPECT_TRUE(port);
    options.target = {.url = "http://127.0.0.1:" + std::to_string(port.value_or(0)), .key = "k1"};
    options.patience = std::chrono::seconds(20);
    connection =
        std::make_unique<Connection>(*Connection::create(loop.get_executor(), options, request_id));
  }

  asio::awaitable<void> handle(net::Exchange& exchange) override {
    const auto& request = exchange.request();
    asked.push_back(request.target);
    keys.push_back(std::string(request.headers.get("Authorization")));
    ranges.push_back(std::string(request.headers.get("Range")) + " " +
                     std::string(request.headers.get("If-Range")));
    EXPECT_FALSE(script_.empty()) << "nobody expects " << request.target;
    if (script_.empty()) co_return;
    const ScriptedAnswer answer = std::move(script_.front());
    script_.pop_front();
    net::Headers headers;
    if (!answer.etag.empty()) headers.add("ETag", answer.etag);
    // One that ends short breaks the connection.
    const size_t promised = answer.body.size() + (answer.is_cut ? 1 : 0);
    auto sent = co_await exchange.begin_sized(answer.status, headers, promised);
    if (sent) sent = co_await exchange.write(answer.body);
    if (sent) sent = co_await exchange.end();
  }

  template <typename T>
  Result<T> run(Task<T> task) {
    return run_task(loop, std::move(task));
  }
  bool is_done() const { return script_.empty(); }

  asio::io_context loop{1};
  ConnectionOptions options;
  std::string request_id;
  std::unique_ptr<Connection> connection;
  std::vector<std::string> asked, keys, ranges;

 private:
  std::deque<ScriptedAnswer> script_;
  net::HttpServer server_;
};

}  // namespace atl::client
