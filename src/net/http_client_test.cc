#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/scripted_stream.h"
#include "net/test_world_internal.h"

namespace atl::net {
namespace {

using testing::HasSubstr;

class ClientWorld final : public TestWorld {
 public:
  explicit ClientWorld(ClientLimits limits = {}, ServerLimits server_limits = {})
      : server(io.get_executor(), handler, server_limits), client(io.get_executor(), limits) {
    const auto port = server.listen_tcp("127.0.0.1", 0);
    EXPECT_TRUE(port.has_value());
    endpoint = *Endpoint::parse("http://127.0.0.1:" + std::to_string(*port));
  }

  Result<Response> send(ClientRequest request) {
    return await(client.send(endpoint, std::move(request)));
  }

  TestHandler handler;
  HttpServer server;
  HttpClient client;
  Endpoint endpoint;
};

// A client that talks to a script instead of a server.
class ScriptedWorld final : public TestWorld {
 public:
  Result<Response> ask(std::string script, ClientRequest request = {.method = Method::post}) {
    client.adopt(endpoint, std::make_unique<ScriptedStream>(std::move(script), 3, &written));
    return await(client.send(endpoint, std::move(request)));
  }

  HttpClient client{io.get_executor()};
  Endpoint endpoint = *Endpoint::parse("unix:/nowhere/at.sock");
  std::string written;
};

TEST(Endpoint, UnderstandsItsForms) {
  const auto tcp = Endpoint::parse("http://example.com:8080/base/");
  const auto tls = Endpoint::parse("https://example.com");
  const auto v6 = Endpoint::parse("http://[::1]:81");
  const auto local = Endpoint::parse("unix:///run/a.sock");

  EXPECT_EQ(tcp->host_header(), "example.com:8080");
  EXPECT_EQ(tcp->base_path, "/base");
  EXPECT_EQ(tls->port, 443);
  EXPECT_EQ(tls->host_header(), "example.com");
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->host_header(), "[::1]:81");
  EXPECT_EQ(local->socket_path, "/run/a.sock");
  for (const char* bad :
       {"", "example.com", "ftp://x", "http://", "http://x:0", "http://x:99999", "http://x:1x",
        "http://u@x", "unix:relative", "http://[::1", "http://a b", "http://x/?q"}) {
    EXPECT_FALSE(Endpoint::parse(bad).has_value()) << bad;
  }
}

TEST(HttpClient, ReusesItsConnection) {
  ClientWorld world;

  for (int i = 0; i < 5; ++i) {
    const auto answer = world.send({.target = "/a"});
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello /a");
  }

  EXPECT_EQ(world.client.idle_connections(), 1u);
  EXPECT_EQ(world.server.stats().connections, 1u);
  EXPECT_EQ(world.server.stats().requests, 5u);
}

TEST(HttpClient, SendsBodies) {
  ClientWorld world;
  const std::string body(800'000, 'b');

  const auto answer = world.send({.method = Method::post, .target = "/echo", .body = body});

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_TRUE(answer->body == body);
}

TEST(HttpClient, GivesErrorStatusesAsAnswers) {
  ClientWorld world;

  const auto answer =
      world.send({.method = Method::post, .target = "/small", .body = "too long for it"});

  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 413);
}

TEST(HttpClient, SeesAnAnswerThatComesBeforeTheBodyWasSent) {
  ClientWorld world;
  const std::string body(30'000'000, 'b');

  const auto answer = world.send({.method = Method::post, .target = "/small", .body = body});

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

Task<std::string> stream_through(HttpClient* client, Endpoint endpoint, RequestBody framing) {
  ClientRequest request{.method = Method::post, .target = "/mirror"};
  CO_TRY(auto call, co_await client->open(std::move(endpoint), std::move(request), framing));
  CO_TRY_OK(co_await call->write("hello "));
  CO_TRY_OK(co_await call->receive());
  char buffer[100];
  CO_TRY(const size_t early, co_await call->read_some(buffer, sizeof buffer));
  std::string all(buffer, early);
  all += "|";
  CO_TRY_OK(co_await call->write("world"));
  CO_TRY_OK(co_await call->finish());
  CO_TRY(auto rest, co_await call->read_all(1'000));
  co_return all + rest;
}

TEST(HttpClient, StreamsBothBodiesAtOnce) {
  ClientWorld world;

  const auto chunked = world.await(
      stream_through(&world.client, world.endpoint, {.kind = RequestBody::Kind::chunked}));
  const auto sized = world.await(stream_through(&world.client, world.endpoint,
                                                {.kind = RequestBody::Kind::sized, .size = 11}));

  EXPECT_EQ(*chunked, "hello |world");
  EXPECT_EQ(*sized, "hello |world");
  EXPECT_EQ(world.client.idle_connections(), 1u);
}

Task<std::string> upgrade(HttpClient* client, Endpoint endpoint) {
  ClientRequest request{.target = "/upgrade"};
  request.headers.add("Connection", "Upgrade");
  request.headers.add("Upgrade", "echo");
  CO_TRY(auto call, co_await client->open(std::move(endpoint), std::move(request)));
  CO_TRY_OK(co_await call->receive());
  if (call->head().status != 101) co_return Error(Code::internal, "no upgrade");
  auto released = call->release_stream();
  call.reset();
  CO_TRY_OK(co_await released.stream->write_all("hello"));
  CO_TRY(auto rest, co_await read_to_end(released.stream.get()));
  co_return released.already_read + rest;
}

TEST(HttpClient, HandsTheStreamOverOnUpgrade) {
  ClientWorld world;

  EXPECT_EQ(*world.await(upgrade(&world.client, world.endpoint)), "hello");
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST(HttpClient, ClosesACallThatWasLeftInTheMiddle) {
  ClientWorld world;
  {
    auto call = world.await(world.client.open(world.endpoint, {.target = "/endless"}));
    ASSERT_TRUE(world.await((*call)->receive()).has_value());
  }

  EXPECT_EQ(world.client.idle_connections(), 0u);
  EXPECT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));
}

TEST(HttpClient, ReplacesAKeptConnectionThatTheServerClosed) {
  ServerLimits limits;
  limits.idle_timeout = milliseconds(20);
  ClientWorld world({}, limits);
  ASSERT_TRUE(world.send({.target = "/a"}).has_value());
  ASSERT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));

  const auto again = world.send({.method = Method::post, .target = "/echo", .body = "x"});

  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(again->body, "x");
}

TEST(HttpClient, RetriesOnceWhenAKeptConnectionDiesUnderAnIdempotentRequest) {
  ClientWorld world;
  std::string ignored;

  world.client.adopt(world.endpoint, std::make_unique<ScriptedStream>("", 1, &ignored));
  const auto get = world.send({.target = "/a"});
  world.client.close_idle();
  world.client.adopt(world.endpoint, std::make_unique<ScriptedStream>("", 1, &ignored));
  const auto post = world.send({.method = Method::post, .target = "/echo"});

  ASSERT_TRUE(get.has_value()) << get.error().message();
  EXPECT_EQ(get->body, "hello /a");
  ASSERT_FALSE(post.has_value());
  EXPECT_EQ(post.error().code(), Code::unavailable);
}

TEST(HttpClient, KeepsNoMoreThanItsLimits) {
  ClientLimits limits;
  limits.idle_per_endpoint = 2;
  limits.connections_per_endpoint = 3;
  ClientWorld world(limits);
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (int i = 0; i < 3; ++i) {
    auto call = world.await(world.client.open(world.endpoint, {.target = "/a"}));
    ASSERT_TRUE(call.has_value());
    calls.push_back(std::move(*call));
  }

  const auto fourth = world.send({.target = "/a"});
  for (auto& call : calls) {
    ASSERT_TRUE(world.await(call->receive()).has_value());
    ASSERT_TRUE(world.await(call->read_all(100)).has_value());
  }
  calls.clear();

  ASSERT_FALSE(fourth.has_value());
  EXPECT_EQ(fourth.error().code(), Code::resource_exhausted);
  EXPECT_EQ(world.client.idle_connections(), 2u);
  EXPECT_TRUE(world.send({.target = "/a"}).has_value());
}

TEST(HttpClient, LetsIdleConnectionsGo) {
  ClientLimits limits;
  limits.idle_timeout = milliseconds(20);
  ClientWorld world(limits);

  ASSERT_TRUE(world.send({.target = "/a"}).has_value());

  EXPECT_EQ(world.client.idle_connections(), 1u);
  EXPECT_TRUE(world.run_until([&] { return world.client.idle_connections() == 0; }));
}

TEST(HttpClient, GivesUpAtItsDeadlines) {
  ClientWorld world;
  ClientRequest slow_head{.target = "/wait"};
  slow_head.timeouts.first_byte = milliseconds(20);
  ClientRequest slow_body{.target = "/endless", .response_limit = size_t{1} << 40};
  slow_body.timeouts.total = milliseconds(50);

  const auto head = world.send(std::move(slow_head));
  auto call = world.await(world.client.open(world.endpoint, std::move(slow_body)));
  ASSERT_TRUE(world.await((*call)->receive()).has_value());
  char buffer[1000];
  Result<size_t> body = size_t{1};
  while (body) body = world.await((*call)->read_some(buffer, sizeof buffer));

  EXPECT_EQ(head.error().code(), Code::deadline_exceeded);
  EXPECT_EQ(body.error().code(), Code::deadline_exceeded);
}

TEST(HttpClient, RefusesAnswersOverTheLimit) {
  ClientWorld world;

  const auto sized = world.send({.target = "/big", .response_limit = 1'000});
  const auto endless = world.send({.target = "/endless", .response_limit = 1'000'000});

  EXPECT_EQ(sized.error().code(), Code::too_large);
  EXPECT_EQ(endless.error().code(), Code::too_large);
}

TEST(HttpClient, SaysWhenNobodyAnswers) {
  TestWorld world;
  HttpClient client(world.io.get_executor());

  const auto answer =
      world.await(client.send(*Endpoint::parse("unix:/nowhere/at.sock"), {.target = "/"}));

  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::not_found);
}

TEST(HttpClient, SendsNothingThatCouldBeTwoRequests) {
  ScriptedWorld world;

  const auto target = world.ask("", {.target = "/a HTTP/1.1\r\nX: y"});
  const auto header = world.ask("HTTP/1.1 204 No Content\r\n\r\n",
                                {.headers = {{"X", "a\r\nY: b"}, {"bad name", "c"}}});

  EXPECT_EQ(target.error().code(), Code::invalid_argument);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(world.written, "GET / HTTP/1.1\r\nHost: localhost\r\nX: a  Y: b\r\n\r\n");
}

TEST(HttpClient, PassesOverInterimAnswers) {
  ScriptedWorld world;

  const auto answer = world.ask(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_EQ(answer->body, "ok");
  EXPECT_FALSE(answer->headers.contains("Link"));
}

TEST(HttpClient, ReadsUntilCloseWhenNothingElseIsSaid) {
  ScriptedWorld world;

  const auto answer = world.ask("HTTP/1.0 200 OK\r\n\r\neverything");

  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, "everything");
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST(HttpClient, RefusesBrokenAnswers) {
  for (const char* script : {
           "",
           "garbage\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
           "HTTP/1.1 200 OK\r\nContent-",
       }) {
    ScriptedWorld world;
    EXPECT_FALSE(world.ask(script).has_value()) << script;
  }
}

}  // namespace
}  // namespace atl::net
