#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/connect.h"
#include "net/scripted_stream.h"
#include "net/test_world_internal.h"

namespace atl::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ServerWorld final : public TestWorld {
 public:
  explicit ServerWorld(ServerLimits limits = {}) : server(io.get_executor(), handler, limits) {}

  StreamPtr connect() {
    auto [client, served] = pair();
    server.serve(std::move(served));
    return std::move(client);
  }

  // Sends everything, says that no more comes, gives everything that came back.
  std::string converse(std::string bytes) {
    const StreamPtr client = connect();
    return await(say_and_read_to_end(client.get(), std::move(bytes))).value();
  }

  TestHandler handler;
  HttpServer server;
};

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string get(std::string_view path, std::string_view fields = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

TEST(HttpServer, AnswersOneRequest) {
  ServerWorld world;

  const std::string answer = world.converse(get("/a"));

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nhello /a"));
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  ServerWorld world;

  const std::string answer =
      world.converse(get("/a") + post("/echo", "body") + get("/b") + get("/c"));

  EXPECT_EQ(count(answer, "HTTP/1.1 200 OK"), 4u);
  EXPECT_LT(answer.find("hello /a"), answer.find("body"));
  EXPECT_LT(answer.find("body"), answer.find("hello /b"));
  EXPECT_THAT(answer, EndsWith("hello /c"));
}

TEST(HttpServer, UnderstandsAnyFragmentation) {
  ServerWorld world;
  const std::string bytes = post("/echo", "one") + get("/x") +
                            "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "3\r\ntwo\r\n0\r\n\r\n" +
                            get("/end");
  std::string whole;
  world.server.serve(std::make_unique<ScriptedStream>(bytes, bytes.size(), &whole));
  world.run_until([&] { return world.server.stats().connections == 0; });
  ASSERT_EQ(count(whole, "HTTP/1.1 200 OK"), 4u);

  for (size_t step = 1; step < bytes.size(); ++step) {
    std::string answer;
    world.server.serve(std::make_unique<ScriptedStream>(bytes, step, &answer));
    world.run_until([&] { return world.server.stats().connections == 0; });
    EXPECT_EQ(answer.size(), whole.size()) << step;
  }
}

TEST(HttpServer, ForgivesAnEmptyLineBeforeARequest) {
  ServerWorld world;
  std::string answer;

  world.server.serve(std::make_unique<ScriptedStream>("\r\n\r\n" + get("/a"), 1, &answer));
  world.run_until([&] { return world.server.stats().connections == 0; });

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpServer, ClosesWhenAsked) {
  ServerWorld world;

  const std::string answer = world.converse(get("/a", "Connection: close\r\n") + get("/b"));

  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("hello /b")));
}

TEST(HttpServer, SpeaksHttp10) {
  ServerWorld world;

  const std::string closed = world.converse("GET /a HTTP/1.0\r\n\r\n");
  const std::string kept =
      world.converse("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n");
  const std::string streamed =
      world.converse("POST /mirror HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");

  EXPECT_THAT(closed, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(kept, HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_THAT(kept, EndsWith("hello /b"));
  EXPECT_THAT(streamed, Not(HasSubstr("chunked")));
  EXPECT_THAT(streamed, EndsWith("\r\n\r\nhi"));
}

TEST(HttpServer, StreamsChunksBothWays) {
  ServerWorld world;

  const std::string answer = world.converse(
      "POST /mirror HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n" +
      get("/next"));

  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n"));
  EXPECT_THAT(answer, EndsWith("hello /next"));
}

TEST(HttpServer, WritesTwoPiecesAsOneChunk) {
  ServerWorld world;

  const std::string answer = world.converse(get("/pieces"));

  EXPECT_THAT(answer, EndsWith("\r\n\r\n9\r\nhead tail\r\n5\r\nalone\r\n0\r\n\r\n"));
}

TEST(HttpServer, CarriesBigBodies) {
  ServerWorld world;
  const std::string body(900'000, 'b');

  const std::string echoed = world.converse(post("/echo", body));
  const std::string big = world.converse(get("/big"));

  EXPECT_THAT(echoed, EndsWith("\r\n\r\n" + body));
  EXPECT_THAT(big, HasSubstr("Content-Length: 10000000\r\n"));
  EXPECT_GT(big.size(), 10'000'000u);
}

TEST(HttpServer, GivesHeadWithoutABody) {
  ServerWorld world;

  const std::string answer = world.converse("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + get("/b"));
  const std::string streamed =
      world.converse("HEAD /mirror HTTP/1.1\r\nHost: h\r\n\r\n" + get("/b"));

  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("hello /a")));
  EXPECT_THAT(answer, EndsWith("hello /b"));
  EXPECT_THAT(streamed, Not(HasSubstr("0\r\n\r\n")));
  EXPECT_THAT(streamed, EndsWith("hello /b"));
}

TEST(HttpServer, LetsNobodyWriteHeaderFields) {
  ServerWorld world;

  const std::string answer = world.converse(get("/a"));

  EXPECT_THAT(answer, HasSubstr("X-Evil: a  Set-Cookie: b\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("\nSet-Cookie")));
}

TEST(HttpServer, SendsContinueOnlyWhenTheBodyIsWanted) {
  ServerWorld world;
  const std::string head =
      " HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";
  const StreamPtr client = world.connect();

  ASSERT_TRUE(world.await(client->write_all("POST /echo" + head)).has_value());
  EXPECT_EQ(*world.await(read_until(client.get(), "\r\n\r\n")), "HTTP/1.1 100 Continue\r\n\r\n");
  const std::string answer = *world.await(say_and_read_to_end(client.get(), "body"));
  const std::string refused = world.converse("POST /unread" + head);

  EXPECT_THAT(answer, EndsWith("body"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(refused, HasSubstr("Connection: close\r\n"));
}

TEST(HttpServer, HasAStatusForEachLimit) {
  ServerLimits limits;
  limits.header_bytes = 2'000;
  limits.header_count = 5;
  limits.target_bytes = 100;
  ServerWorld world(limits);
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";

  EXPECT_THAT(world.converse(get("/" + std::string(200, 'a'))), StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(world.converse("GET /" + std::string(1'000'000, 'a')), StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(world.converse(start + "X: " + std::string(1'000'000, 'a')),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(world.converse(start + "X: " + std::string(3'000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(world.converse(get("/", "A:1\r\nB:1\r\nC:1\r\nD:1\r\nE:1\r\n")),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(world.converse(post("/small", "12345678901")), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(world.converse("POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "b\r\n12345678901\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(world.handler.calls, 2);
}

TEST(HttpServer, ExplainsWhatItRefuses) {
  ServerWorld world;

  const std::string answer = world.converse("GET / HTTP/1.1\r\n\r\n" + get("/next"));

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/problem+json\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(
      answer,
      HasSubstr(
          R"({"type":"urn:atoll:problem:invalid_argument","title":"Invalid argument","status":400,)"
          R"("code":"invalid_argument",)"
          R"("detail":"exactly one Host is needed")"));
  EXPECT_EQ(world.handler.calls, 0);
  EXPECT_EQ(world.server.stats().malformed, 1u);
}

TEST(HttpServer, NeverServesASmuggledRequest) {
  ServerWorld world;
  const std::string smuggled = get("/smuggled");

  for (const std::string_view fields : {
           "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
           "Content-Length: 0\r\nContent-Length: 40\r\n",
           "Transfer-Encoding: identity\r\n",
           "Transfer-Encoding:\x0b chunked\r\n",
           "X: y\r\n Content-Length: 40\r\n",
       }) {
    const std::string answer = world.converse("POST /echo HTTP/1.1\r\nHost: h\r\n" +
                                              std::string(fields) + "\r\n" + smuggled);
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u) << fields;
    EXPECT_THAT(answer, Not(HasSubstr("/smuggled"))) << fields;
  }
  const std::string bad_chunk = world.converse(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + smuggled);
  EXPECT_THAT(bad_chunk, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(bad_chunk, Not(HasSubstr("/smuggled")));
  EXPECT_EQ(world.handler.body_error, Code::invalid_argument);
}

TEST(HttpServer, RecognisesWhatIsNoHttpAtOnce) {
  ServerWorld world;
  const StreamPtr client = world.connect();

  // A TLS greeting, without an end that a head would have.
  ASSERT_TRUE(world.await(client->write_all("\x16\x03\x01\x02\x00\x01")).has_value());

  EXPECT_THAT(*world.await(read_until(client.get(), "\r\n")), StartsWith("HTTP/1.1 400 "));
}

TEST(HttpServer, DiscardsABodyThatNobodyRead) {
  ServerLimits limits;
  limits.discard_bytes = 1'000;
  ServerWorld world(limits);

  const std::string little = world.converse(post("/unread", std::string(500, 'x')) + get("/next"));
  const std::string much = world.converse(post("/unread", std::string(5'000, 'x')) + get("/next"));

  EXPECT_THAT(little, EndsWith("hello /next"));
  EXPECT_THAT(much, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(much, EndsWith("unread"));
}

TEST(HttpServer, AnswersForAHandlerThatDoesNot) {
  ServerWorld world;

  EXPECT_THAT(world.converse(get("/silent")), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(world.converse(get("/throw")), StartsWith("HTTP/1.1 500 "));
}

TEST(HttpServer, RefusesASecondAnswerToOneRequest) {
  ServerWorld world;

  const std::string answer = world.converse(get("/twice") + get("/next"));

  EXPECT_EQ(world.handler.write_error, Code::internal);
  EXPECT_EQ(count(answer, "HTTP/1.1 "), 2u);
  EXPECT_THAT(answer, EndsWith("hello /next"));
}

TEST(HttpServer, CutsAnAnswerThatIsShorterThanAnnounced) {
  ServerWorld world;

  const std::string answer = world.converse(get("/short") + get("/next"));

  EXPECT_THAT(answer, EndsWith("\r\n\r\nshort"));
  EXPECT_EQ(world.handler.write_error, Code::internal);
}

TEST(HttpServer, CutsOffSlowHeads) {
  ServerLimits limits;
  limits.header_timeout = milliseconds(30);
  ServerWorld world(limits);
  const StreamPtr client = world.connect();

  ASSERT_TRUE(world.await(client->write_all("GET / HT")).has_value());

  EXPECT_EQ(*world.await(read_to_end(client.get())), "");
  EXPECT_EQ(world.handler.calls, 0);
}

TEST(HttpServer, CutsOffIdleConnections) {
  ServerLimits limits;
  limits.idle_timeout = milliseconds(30);
  ServerWorld world(limits);
  const StreamPtr silent = world.connect();
  const StreamPtr spoke = world.connect();

  ASSERT_TRUE(world.await(spoke->write_all(get("/a"))).has_value());

  EXPECT_EQ(*world.await(read_to_end(silent.get())), "");
  EXPECT_THAT(*world.await(read_to_end(spoke.get())), EndsWith("hello /a"));
}

TEST(HttpServer, CutsOffSlowBodies) {
  ServerLimits limits;
  limits.body_patience = milliseconds(30);
  ServerWorld world(limits);
  const StreamPtr client = world.connect();

  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc";
  ASSERT_TRUE(world.await(client->write_all(head)).has_value());

  EXPECT_EQ(*world.await(read_to_end(client.get())), "");
  EXPECT_EQ(world.handler.body_error, Code::deadline_exceeded);
}

TEST(HttpServer, CutsOffSlowReaders) {
  ServerLimits limits;
  limits.write_timeout = milliseconds(30);
  ServerWorld world(limits);
  const StreamPtr client = world.connect();

  ASSERT_TRUE(world.await(client->write_all(get("/endless"))).has_value());

  EXPECT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));
  EXPECT_EQ(world.handler.write_error, Code::deadline_exceeded);
}

TEST(HttpServer, NoticesAClientThatLeavesWhileItsAnswerIsMade) {
  ServerWorld world;
  StreamPtr client = world.connect();
  world.handler.on_wait = [&] { client->close(); };
  client->set_write_deadline(after(milliseconds(5'000)));

  ASSERT_TRUE(world.await(client->write_all(get("/wait"))).has_value());

  EXPECT_TRUE(world.run_until([&] { return world.handler.saw_closed; }));
  EXPECT_TRUE(world.handler.hook_ran);
  EXPECT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));
}

TEST(HttpServer, KeepsWhatAPipeliningClientSentWhileItWatched) {
  ServerWorld world;
  const StreamPtr client = world.connect();
  ByteStream* stream = client.get();
  world.handler.on_wait = [&] {
    spawn(world.io.get_executor(),
          stream->write_all(std::string_view("GET /b HTTP/1.1\r\nHost: h\r\n\r\n")));
  };

  ASSERT_TRUE(world.await(client->write_all(get("/held"))).has_value());
  const auto answer = world.await(read_until(client.get(), "hello /b"));

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_THAT(*answer, HasSubstr("held"));
  EXPECT_FALSE(world.handler.hook_ran);
}

TEST(HttpServer, GoesOnAfterAWatchThatSawNothing) {
  ServerWorld world;
  const StreamPtr client = world.connect();

  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world.await(client->write_all(get("/held"))).has_value());
    const auto answer = world.await(read_until(client.get(), "\r\n\r\nheld"));
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
  }
  EXPECT_EQ(world.handler.calls, 3);
}

// A watch reads on while the next request is waited for: the buffer stays until it is done.
TEST(HttpServer, GoesOnAfterAWatchOverARequestWithALargeHead) {
  ServerWorld world;
  const StreamPtr client = world.connect();
  const std::string large = "X: " + std::string(20'000, 'x') + "\r\n";

  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world.await(client->write_all(get("/held", large))).has_value());
    const auto answer = world.await(read_until(client.get(), "\r\n\r\nheld"));
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
  }
  EXPECT_EQ(world.handler.calls, 3);
}

TEST(HttpServer, ReadsOnAfterARequestThatCameWhileItWatched) {
  ServerWorld world;
  const StreamPtr client = world.connect();
  ByteStream* stream = client.get();
  world.handler.on_wait = [&] {
    spawn(world.io.get_executor(),
          stream->write_all(std::string_view("GET /b HTTP/1.1\r\nHost: h\r\n\r\n")));
  };
  ASSERT_TRUE(world.await(client->write_all(get("/held"))).has_value());
  ASSERT_TRUE(world.await(read_until(stream, "hello /b")).has_value());

  ASSERT_TRUE(world.await(client->write_all(get("/c"))).has_value());
  const auto answer = world.await(read_until(stream, "hello /c"));

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_THAT(*answer, StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, ReadsABodyWhoseHeadCameWhileItWatched) {
  ServerWorld world;
  const StreamPtr client = world.connect();
  ByteStream* stream = client.get();
  world.handler.on_wait = [&] {
    spawn(world.io.get_executor(),
          stream->write_all(
              std::string_view("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\nfir")));
  };
  ASSERT_TRUE(world.await(client->write_all(get("/held"))).has_value());
  ASSERT_TRUE(world.await(read_until(stream, "\r\n\r\nheld")).has_value());

  ASSERT_TRUE(world.await(client->write_all(std::string_view("st+c"))).has_value());
  const auto answer = world.await(read_until(stream, "first+c"));

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
}

TEST(HttpServer, StopsAnAnswerThatNobodyReads) {
  ServerWorld world;
  StreamPtr client = world.connect();

  ASSERT_TRUE(world.await(client->write_all(get("/endless"))).has_value());
  ASSERT_TRUE(world.await(read_until(client.get(), "xxxx")).has_value());
  client->close();

  EXPECT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));
  EXPECT_EQ(world.handler.write_error, Code::cancelled);
}

TEST(HttpServer, HandsTheStreamOverOnUpgrade) {
  ServerWorld world;

  const std::string early = world.converse(get("/upgrade", "Upgrade: echo\r\n") + "hello");
  const StreamPtr client = world.connect();
  ASSERT_TRUE(world.await(client->write_all(get("/upgrade"))).has_value());
  const auto head = world.await(read_until(client.get(), "\r\n\r\n"));
  const auto late = world.await(say_and_read_to_end(client.get(), "later"));

  EXPECT_THAT(early, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(early, HasSubstr("Upgrade: echo\r\nConnection: Upgrade\r\n\r\nhello"));
  EXPECT_THAT(*head, HasSubstr("Upgrade: echo\r\n"));
  EXPECT_EQ(*late, "later");
}

TEST(HttpServer, TurnsAwayConnectionsBeyondTheLimit) {
  ServerLimits limits;
  limits.connections = 1;
  ServerWorld world(limits);
  const StreamPtr first = world.connect();

  const std::string second = world.converse(get("/a"));
  const auto served = world.await(say_and_read_to_end(first.get(), get("/a")));
  ASSERT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));
  const std::string third = world.converse(get("/a"));

  EXPECT_THAT(second, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(*served, EndsWith("hello /a"));
  EXPECT_THAT(third, EndsWith("hello /a"));
  EXPECT_EQ(world.server.stats().refused, 1u);
}

TEST(Drain, ClosesIdleConnectionsAndFinishesBusyOnes) {
  ServerWorld world;
  const StreamPtr idle = world.connect();
  const StreamPtr busy = world.connect();
  bool held = false;
  world.handler.on_wait = [&] { held = true; };
  ASSERT_TRUE(world.await(busy->write_all(get("/held"))).has_value());
  ASSERT_TRUE(world.run_until([&] { return held; }));

  const auto drained = world.await(world.server.drain(after(milliseconds(5'000))));

  EXPECT_TRUE(drained.has_value());
  EXPECT_EQ(*world.await(read_to_end(idle.get())), "");
  const std::string answer = *world.await(read_to_end(busy.get()));
  EXPECT_THAT(answer, EndsWith("held"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
}

TEST(Drain, ClosesWhatIsStillBusyAtTheDeadline) {
  ServerWorld world;
  const StreamPtr client = world.connect();
  bool waits = false;
  world.handler.on_wait = [&] { waits = true; };
  ASSERT_TRUE(world.await(client->write_all(get("/wait"))).has_value());
  ASSERT_TRUE(world.run_until([&] { return waits; }));

  const auto drained = world.await(world.server.drain(after(milliseconds(20))));

  ASSERT_FALSE(drained.has_value());
  EXPECT_EQ(drained.error().code(), Code::deadline_exceeded);
  EXPECT_TRUE(world.run_until([&] { return world.handler.saw_closed; }));
  EXPECT_TRUE(world.run_until([&] { return world.server.stats().connections == 0; }));
}

TEST(Drain, StopsListening) {
  ServerWorld world;
  const auto port = world.server.listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(port.has_value());
  ASSERT_NE(*port, 0);

  ASSERT_TRUE(world.await(world.server.drain(after(milliseconds(1'000)))).has_value());
  const auto stream = world.await(
      connect_tcp(world.io.get_executor(), "127.0.0.1", *port, after(milliseconds(5'000))));

  EXPECT_FALSE(stream.has_value());
}

TEST(HttpServer, ListensOnTcp) {
  ServerWorld world;
  const auto port = world.server.listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(port.has_value());

  auto stream = world.await(
      connect_tcp(world.io.get_executor(), "127.0.0.1", *port, after(milliseconds(5'000))));
  ASSERT_TRUE(stream.has_value());
  const auto answer = world.await(say_and_read_to_end(stream->get(), get("/a")));

  EXPECT_THAT(*answer, EndsWith("hello /a"));
  EXPECT_EQ(world.server.listen_tcp("no address", 0).error().code(), Code::invalid_argument);
  EXPECT_FALSE(world.server.listen_tcp("127.0.0.1", *port).has_value());
}

TEST(HttpServer, RefusesHugeHeadersOverTcpSoThatTheClientSeesWhy) {
  ServerWorld world;
  const auto port = world.server.listen_tcp("127.0.0.1", 0);
  auto stream = world.await(
      connect_tcp(world.io.get_executor(), "127.0.0.1", *port, after(milliseconds(5'000))));

  const std::string huge = "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(10'000'000, 'a');
  const auto answer = world.await(say_and_read_to_end(stream->get(), huge));

  EXPECT_THAT(*answer, StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, ListensOnUnixSocketsWithLongPaths) {
  ServerWorld world;
  const TempDir dir;
  std::string deep = dir.file(std::string(90, 'd'));
  for (int i = 0; i < 3; ++i) deep += "/" + std::string(90, 'd');
  std::filesystem::create_directories(deep);
  const std::string path = deep + "/" + std::string(120, 's') + ".sock";

  const auto listening = world.server.listen_unix(path, 0600);
  ASSERT_TRUE(listening.has_value()) << listening.error().message();
  auto stream =
      world.await(connect_unix(world.io.get_executor(), path, after(milliseconds(5'000))));
  ASSERT_TRUE(stream.has_value()) << stream.error().message();
  const auto answer = world.await(say_and_read_to_end(stream->get(), get("/a")));
  ASSERT_TRUE(world.await(world.server.drain(after(milliseconds(1'000)))).has_value());

  EXPECT_THAT(*answer, EndsWith("hello /a"));
  ASSERT_TRUE(world.handler.credentials.has_value());
  EXPECT_EQ(world.handler.credentials->pid, ::getpid());
  EXPECT_TRUE(std::filesystem::is_empty(deep));
}

}  // namespace
}  // namespace atl::net
