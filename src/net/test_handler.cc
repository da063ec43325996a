#include <stdexcept>

#include "net/event.h"
#include "net/test_world_internal.h"

namespace atl::net {
namespace {

Response text(std::string body) {
  Response response;
  response.headers.add("Content-Type", "text/plain");
  response.body = std::move(body);
  return response;
}

Task<> echo(Exchange& exchange, size_t limit) {
  CO_TRY(auto body, co_await exchange.read_body(limit));
  auto response = text(std::move(body));
  co_return co_await exchange.respond(std::move(response));
}

// The body goes back as it comes, in chunks.
Task<> mirror(Exchange& exchange) {
  CO_TRY_OK(co_await exchange.begin(200, {}));
  char buffer[10'000];
  while (true) {
    CO_TRY(const size_t got, co_await exchange.read_body_some(buffer, sizeof buffer));
    if (got == 0) break;
    CO_TRY_OK(co_await exchange.write(std::string_view(buffer, got)));
  }
  co_return co_await exchange.end();
}

Task<> big(Exchange& exchange) {
  const std::string block(100'000, 'x');
  CO_TRY_OK(co_await exchange.begin_sized(200, {}, 100 * block.size()));
  for (int i = 0; i < 100; ++i) CO_TRY_OK(co_await exchange.write(block));
  co_return co_await exchange.end();
}

Task<> pieces(Exchange& exchange) {
  CO_TRY_OK(co_await exchange.begin(200, {}));
  CO_TRY_OK(co_await exchange.write("head ", "tail"));
  CO_TRY_OK(co_await exchange.write("alone", ""));
  co_return co_await exchange.end();
}

Task<> endless(Exchange& exchange) {
  const std::string block(100'000, 'x');
  CO_TRY_OK(co_await exchange.begin(200, {}));
  while (true) CO_TRY_OK(co_await exchange.write(block));
}

Task<> short_answer(Exchange& exchange) {
  CO_TRY_OK(co_await exchange.begin_sized(200, {}, 10));
  CO_TRY_OK(co_await exchange.write("short"));
  co_return co_await exchange.end();
}

// After the upgrade: what the client says comes back once, then the end.
Task<> upgrade(Exchange& exchange) {
  Headers headers{{"Upgrade", "echo"}};
  CO_TRY(auto released, co_await exchange.upgrade(std::move(headers)));
  std::string said = std::move(released.already_read);
  while (said.size() < 5) {
    char byte;
    CO_TRY(const size_t got, co_await released.stream->read_some(&byte, 1));
    if (got == 0) break;
    said += byte;
  }
  CO_TRY_OK(co_await released.stream->write_all(said));
  released.stream->close();
  co_return Result<>();
}

}  // namespace

asio::awaitable<void> TestHandler::handle(Exchange& exchange) {
  ++calls;
  const Request& request = exchange.request();
  credentials = request.peer.credentials;
  Result<> result;
  if (request.path == "/echo") {
    result = co_await echo(exchange, 1'000'000);
  } else if (request.path == "/small") {
    result = co_await echo(exchange, 10);
  } else if (request.path == "/mirror") {
    result = co_await mirror(exchange);
  } else if (request.path == "/big") {
    result = co_await big(exchange);
  } else if (request.path == "/pieces") {
    result = co_await pieces(exchange);
  } else if (request.path == "/endless") {
    result = co_await endless(exchange);
  } else if (request.path == "/short") {
    result = co_await short_answer(exchange);
  } else if (request.path == "/upgrade") {
    result = co_await upgrade(exchange);
  } else if (request.path == "/silent") {
    co_return;
  } else if (request.path == "/throw") {
    throw std::runtime_error("on purpose");
  } else if (request.path == "/unread") {
    auto response = text("unread");
    result = co_await exchange.respond(std::move(response));
  } else if (request.path == "/twice") {
    auto first = text("first");
    auto second = text("second");
    result = co_await exchange.respond(std::move(first));
    result = co_await exchange.respond(std::move(second));
  } else if (request.path == "/wait") {
    if (on_wait) on_wait();
    exchange.on_closed([this] { hook_ran = true; });
    result = co_await exchange.wait_closed();
    saw_closed = true;
    auto response = text("too late");
    result = co_await exchange.respond(std::move(response));
  } else if (request.path == "/held") {
    // Answers when the test lets it, while the connection is being watched.
    const auto executor = co_await asio::this_coro::executor;
    Event released(executor);
    exchange.on_closed([this] { hook_ran = true; });
    if (on_wait) on_wait();
    co_await released.wait_until(after(milliseconds(30)));
    auto response = text("held");
    result = co_await exchange.respond(std::move(response));
  } else {
    Response response = text("hello " + request.path);
    response.headers.add("X-Evil", "a\r\nSet-Cookie: b");
    result = co_await exchange.respond(std::move(response));
  }
  if (result) co_return;
  if (exchange.started()) {
    write_error = result.error().code();
    co_return;
  }
  body_error = result.error().code();
  auto problem = make_problem(http_status(*body_error), result.error());
  const auto answered = co_await exchange.respond(std::move(problem));
  (void)answered;
}

}  // namespace atl::net
