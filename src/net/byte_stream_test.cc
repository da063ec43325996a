#include "net/byte_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>

#include "net/connect.h"
#include "net/listener.h"
#include "net/test_world_internal.h"
#include "net/unix_path.h"

namespace atl::net {
namespace {

Task<> write_and_end(ByteStream* stream, std::string bytes) {
  CO_TRY_OK(co_await stream->write_all(bytes));
  co_return co_await stream->shutdown_write();
}

TEST(ByteStream, CarriesMoreThanTheSocketHolds) {
  TestWorld world;
  auto [left, right] = world.pair();
  std::string sent(8 * 1024 * 1024, 'x');
  for (size_t i = 0; i < sent.size(); i += 997) sent[i] = static_cast<char>(i);

  spawn(world.io.get_executor(), write_and_end(left.get(), sent));
  const auto got = world.await(read_to_end(right.get()));

  EXPECT_TRUE(*got == sent);
}

TEST(ByteStream, GathersItsPieces) {
  TestWorld world;
  auto [left, right] = world.pair();

  const Pieces pieces{"head ", "", "tail"};
  ASSERT_TRUE(world.await(left->write_pieces(pieces)).has_value());
  left->close();

  EXPECT_EQ(*world.await(read_to_end(right.get())), "head tail");
}

TEST(ByteStream, ClosesWhenAReadDeadlinePasses) {
  TestWorld world;
  auto [left, right] = world.pair();
  char byte;

  left->set_read_deadline(after(milliseconds(20)));
  const auto got = world.await(left->read_some(&byte, 1));

  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code(), Code::deadline_exceeded);
  EXPECT_FALSE(left->is_open());
}

TEST(ByteStream, ClosesWhenAWriteDeadlinePasses) {
  TestWorld world;
  auto [left, right] = world.pair();
  const std::string much(16 * 1024 * 1024, 'x');

  left->set_write_deadline(after(milliseconds(20)));
  const auto sent = world.await(left->write_all(much));

  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code(), Code::deadline_exceeded);
}

TEST(ByteStream, FollowsADeadlineThatMovesInEitherDirection) {
  TestWorld world;
  auto [left, right] = world.pair();
  ByteStream* stream = left.get();
  char byte;
  std::optional<Result<size_t>> got;
  const auto started = std::chrono::steady_clock::now();

  stream->set_read_deadline(started + milliseconds(10));
  asio::co_spawn(world.io, store_result(stream->read_some(&byte, 1), &got),
                 [](std::exception_ptr) {});
  world.io.poll();
  stream->set_read_deadline(started + std::chrono::hours(1));
  stream->set_read_deadline(started + milliseconds(60));
  ASSERT_TRUE(world.run_until([&] { return got.has_value(); }));

  EXPECT_EQ(got->error().code(), Code::deadline_exceeded);
  EXPECT_GE(std::chrono::steady_clock::now() - started, milliseconds(60));
}

TEST(ByteStream, EndsPendingReadsOnCancelAndOnClose) {
  TestWorld world;
  auto [left, right] = world.pair();
  ByteStream* stream = left.get();
  char byte;
  std::optional<Result<size_t>> got;

  asio::co_spawn(world.io, store_result(stream->read_some(&byte, 1), &got),
                 [](std::exception_ptr) {});
  world.io.poll();
  stream->cancel();
  ASSERT_TRUE(world.run_until([&] { return got.has_value(); }));
  EXPECT_EQ(got->error().code(), Code::cancelled);
  EXPECT_TRUE(stream->is_open());

  got.reset();
  asio::co_spawn(world.io, store_result(stream->read_some(&byte, 1), &got),
                 [](std::exception_ptr) {});
  world.io.poll();
  stream->close();
  ASSERT_TRUE(world.run_until([&] { return got.has_value(); }));
  EXPECT_EQ(got->error().code(), Code::cancelled);
}

TEST(ByteStream, IsQuietUntilThePeerSpeaksOrLeaves) {
  TestWorld world;
  auto [left, right] = world.pair();

  EXPECT_TRUE(left->is_quiet());
  ASSERT_TRUE(world.await(right->write_all("x")).has_value());
  EXPECT_FALSE(left->is_quiet());
  left->close();
  EXPECT_FALSE(right->is_quiet());
}

TEST(ByteStream, KnowsWhoIsBehindAUnixSocket) {
  TestWorld world;
  auto [left, right] = world.pair();

  const auto peer = left->peer_credentials();

  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::getuid());
}

TEST(ByteStream, RefusesADescriptorThatIsNoSocket) {
  TestWorld world;
  Fd file(::open("/dev/null", O_RDWR | O_CLOEXEC));

  EXPECT_FALSE(adopt_socket(world.io.get_executor(), std::move(file)).has_value());
}

TEST(ByteStream, ReportsAPeerThatReset) {
  TestWorld world;
  auto [left, right] = world.pair();
  right->close();
  const std::string bytes(1'000, 'x');

  const auto sent = world.await(left->write_all(bytes));

  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code(), Code::unavailable);
}

TEST(ConnectTcp, SaysWhenNobodyListens) {
  TestWorld world;
  auto socket = listen_at_tcp("127.0.0.1", 0);
  ASSERT_TRUE(socket.has_value());
  auto listener = Listener::create(world.io.get_executor(), std::move(*socket), {});
  const uint16_t port = (*listener)->port();
  listener->reset();
  world.io.poll();

  const auto stream = world.await(
      connect_tcp(world.io.get_executor(), "127.0.0.1", port, after(milliseconds(5'000))));

  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code(), Code::unavailable);
}

TEST(ConnectTcp, LooksUpNames) {
  TestWorld world;
  StreamPtr accepted;
  auto socket = listen_at_tcp("127.0.0.1", 0);
  auto listener = Listener::create(world.io.get_executor(), std::move(*socket),
                                   [&](StreamPtr stream, Peer) { accepted = std::move(stream); });
  ASSERT_TRUE(listener.has_value());

  auto stream = world.await(connect_tcp(world.io.get_executor(), "localhost", (*listener)->port(),
                                        after(milliseconds(5'000))));

  ASSERT_TRUE(stream.has_value()) << stream.error().message();
  EXPECT_TRUE(world.run_until([&] { return accepted != nullptr; }));
}

TEST(ConnectUnix, SaysWhatIsMissing) {
  TestWorld world;
  const TempDir dir;
  const auto code_for = [&](std::string path) {
    return world
        .await(connect_unix(world.io.get_executor(), std::move(path), after(milliseconds(1'000))))
        .error()
        .code();
  };

  EXPECT_EQ(code_for(dir.file("none.sock")), Code::not_found);
  {
    auto stale = listen_at(dir.file("stale.sock"), 0600);
  }
  EXPECT_EQ(code_for(dir.file("stale.sock")), Code::unavailable);
}

TEST(ListenAt, ReplacesAStaleSocketOnly) {
  const TempDir dir;
  const std::string path = dir.file("a.sock");
  std::ofstream(dir.file("file")) << "not a socket";

  auto first = listen_at(path, 0600);
  ASSERT_TRUE(first.has_value()) << first.error().message();
  EXPECT_EQ(listen_at(path, 0600).error().code(), Code::already_exists);
  first->socket.close();
  auto second = listen_at(path, 0640);
  ASSERT_TRUE(second.has_value()) << second.error().message();
  EXPECT_EQ(listen_at(dir.file("file"), 0600).error().code(), Code::already_exists);

  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, mode_t{0640});
}

TEST(ListenAt, RemovesOnlyItsOwnSocket) {
  const TempDir dir;
  const std::string path = dir.file("a.sock");
  auto first = listen_at(path, 0600);
  first->socket.close();
  auto second = listen_at(path, 0600);
  ASSERT_TRUE(second.has_value());

  first->remove();
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  second->remove();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(Listener, SurvivesRunningOutOfDescriptors) {
  TestWorld world;
  const TempDir dir;
  int accepted = 0;
  auto file = listen_at(dir.file("a.sock"), 0600);
  auto listener = Listener::create(world.io.get_executor(), std::move(file->socket),
                                   [&](StreamPtr, Peer) { ++accepted; });
  ASSERT_TRUE(listener.has_value());
  world.io.poll();
  const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto target = address_of_socket(dir.file("a.sock"));
  const auto* address = reinterpret_cast<const sockaddr*>(&target->address);
  ASSERT_EQ(::connect(client.get(), address, sizeof target->address), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto cpu_before = ::clock();
  world.io.run_for(milliseconds(120));
  const auto cpu_spent = ::clock() - cpu_before;
  const int accepted_without_descriptors = accepted;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

  EXPECT_EQ(accepted_without_descriptors, 0);
  EXPECT_LT(cpu_spent, CLOCKS_PER_SEC / 20);
  EXPECT_TRUE(world.run_until([&] { return accepted == 1; }));
}

}  // namespace
}  // namespace atl::net
