#include "os/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "os/file.h"

namespace atl::os {
namespace {

TEST(Socket, CarriesDescriptors) {
  auto [left, right] = socket_pair(SocketKind::packets).value();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Fd read_end(ends[0]), write_end(ends[1]);
  const int sent = write_end.get();

  ASSERT_TRUE(send_some(left.get(), "take this", std::span(&sent, 1)).has_value());
  write_end.close();
  std::array<char, 64> buffer;
  auto received = receive_some(right.get(), buffer).value();

  ASSERT_EQ(received.descriptors.size(), 1u);
  ASSERT_TRUE(write_all(received.descriptors[0].get(), "x").has_value());
  EXPECT_EQ(read(read_end.get(), buffer.data(), 1), 1);
}

TEST(Socket, RefusesAPacketThatDoesNotFit) {
  auto [left, right] = socket_pair(SocketKind::packets).value();
  ASSERT_TRUE(send_some(left.get(), std::string(100, 'x')).has_value());

  std::array<char, 64> buffer;

  EXPECT_EQ(receive_some(right.get(), buffer).error().code(), Code::invalid_argument);
}

TEST(Socket, ListensInADirectoryWithALongPath) {
  char base[] = "/tmp/atoll-socket-XXXXXX";
  ASSERT_NE(mkdtemp(base), nullptr);
  const std::string path = std::string(base) + "/" + std::string(200, 'd');
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  auto directory = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY).value();

  auto listener = listen_at(directory.get(), "s", SocketKind::stream, 0600).value();
  auto client = connect_at(directory.get(), "s", SocketKind::stream);

  ASSERT_TRUE(client.has_value()) << client.error().message();
  auto server = accept_from(listener).value();
  EXPECT_EQ(peer_of(server.get()).value().pid, getpid());
  EXPECT_TRUE(remove_tree(AT_FDCWD, base).has_value());
}

}  // namespace
}  // namespace atl::os
