// Arbitrary bytes as requests to the server and as an answer to the client.
//
// The first byte chooses the side and how the bytes are cut into reads. The server's limits are
// small, so that the fuzzer reaches them.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/check.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/scripted_stream.h"

namespace atl::net {
namespace {

class FuzzHandler final : public Handler {
 public:
  asio::awaitable<void> handle(Exchange& exchange) override {
    const auto result = co_await answer(exchange);
    (void)result;
  }

 private:
  static Task<> answer(Exchange& exchange) {
    const Request& request = exchange.request();
    if (request.path.starts_with("/u")) {
      CO_TRY(auto released, co_await exchange.upgrade({}));
      released.stream->close();
      co_return Result<>();
    }
    if (request.path.starts_with("/n")) {
      co_return co_await exchange.respond({.status = 204});
    }
    if (request.path.starts_with("/s")) {
      CO_TRY_OK(co_await exchange.begin(200, {}));
      char buffer[50];
      while (true) {
        CO_TRY(const size_t got, co_await exchange.read_body_some(buffer, sizeof buffer));
        if (got == 0) break;
        CO_TRY_OK(co_await exchange.write(std::string_view(buffer, got)));
      }
      co_return co_await exchange.end();
    }
    Response response;
    response.headers.add("X-Path", request.path);
    for (const auto& [name, value] : request.query) response.headers.add(name, value);
    auto body = co_await exchange.read_body(300);
    if (!body) response.status = http_status(body.error().code());
    if (body) response.body = std::move(*body);
    co_return co_await exchange.respond(std::move(response));
  }
};

Task<> ask(HttpClient* client, Endpoint endpoint) {
  ClientRequest request{.method = Method::post, .body = "body", .response_limit = 1'000};
  const auto answer = co_await client->send(std::move(endpoint), std::move(request));
  if (answer) ATOLL_CHECK(answer->status >= 100 && answer->body.size() <= 1'000);
  co_return Result<>();
}

void fuzz(std::string bytes, uint8_t choice) {
  asio::io_context io(1);
  std::string written;
  const size_t step = 1 + (choice >> 1);
  auto stream = std::make_unique<ScriptedStream>(std::move(bytes), step, &written);
  if ((choice & 1) == 0) {
    FuzzHandler handler;
    ServerLimits limits;
    limits.header_bytes = 600;
    limits.header_count = 10;
    limits.target_bytes = 200;
    limits.discard_bytes = 200;
    HttpServer server(io.get_executor(), handler, limits);
    server.serve(std::move(stream));
    io.run();
    ATOLL_CHECK(server.stats().connections == 0);
    ATOLL_CHECK(written.empty() || written.starts_with("HTTP/1.1 "));
  } else {
    ClientLimits limits;
    limits.header_bytes = 600;
    limits.idle_per_endpoint = 1;
    HttpClient client(io.get_executor(), limits);
    const auto endpoint = Endpoint::parse("unix:/nowhere");
    client.adopt(*endpoint, std::move(stream));
    bool done = false;
    spawn(io.get_executor(), ask(&client, *endpoint), [&](Result<>) {
      client.close_idle();
      done = true;
    });
    io.run();
    ATOLL_CHECK(done);
  }
}

}  // namespace
}  // namespace atl::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  atl::net::fuzz(std::string(reinterpret_cast<const char*>(data + 1), size - 1), data[0]);
  return 0;
}
