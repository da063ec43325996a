#include "net/websocket.h"

#include <gtest/gtest.h>

#include "net/scripted_stream.h"
#include "net/test_world_internal.h"

namespace atl::net {
namespace {

constexpr uint8_t kText = 0x81, kBinary = 0x82, kClose = 0x88, kPing = 0x89;

// As a client sends it: masked.
std::string frame(uint8_t first, std::string_view payload) {
  std::string bytes(1, static_cast<char>(first));
  if (payload.size() < 126) {
    bytes += static_cast<char>(0x80 | payload.size());
  } else {
    bytes += static_cast<char>(0xfe);
    bytes += static_cast<char>(payload.size() >> 8);
    bytes += static_cast<char>(payload.size() & 0xff);
  }
  constexpr char kMask[] = {0x12, 0x34, 0x56, 0x78};
  bytes.append(kMask, 4);
  for (size_t i = 0; i < payload.size(); ++i) bytes += static_cast<char>(payload[i] ^ kMask[i % 4]);
  return bytes;
}

struct Talk {
  explicit Talk(std::string script, size_t step = 1000)
      : socket(world.io.get_executor(),
               Released{std::make_unique<ScriptedStream>(std::move(script), step, &written), ""},
               300) {}

  Result<WebSocketMessage> receive() { return world.await(socket.receive()); }
  // The code of the close that was said.
  int said() const {
    if (written.size() < 4 || static_cast<uint8_t>(written[0]) != kClose) return 0;
    return static_cast<uint8_t>(written[2]) << 8 | static_cast<uint8_t>(written[3]);
  }

  TestWorld world;
  std::string written;
  WebSocket socket;
};

TEST(WebSocket, ReceivesMessagesHoweverTheyAreCut) {
  for (const size_t step : {1, 2, 3, 7, 1000}) {
    Talk talk(frame(kText, "héllo") + frame(kBinary, std::string(200, '\x00')), step);
    const auto text = talk.receive();
    const auto binary = talk.receive();
    ASSERT_TRUE(text && binary);
    EXPECT_EQ(text->kind, MessageKind::text);
    EXPECT_EQ(text->bytes, "héllo");
    EXPECT_EQ(binary->kind, MessageKind::binary);
    EXPECT_EQ(binary->bytes, std::string(200, '\x00'));
  }
}

TEST(WebSocket, PutsFragmentsTogetherAndAnswersPingsBetweenThem) {
  Talk talk(frame(0x01, "one ") + frame(kPing, "p") + frame(0x00, "two ") + frame(0x80, "three"));
  EXPECT_EQ(talk.receive()->bytes, "one two three");
  EXPECT_EQ(talk.written, std::string("\x8a\x01p", 3));
}

TEST(WebSocket, SaysTheCloseBack) {
  Talk talk(frame(kClose, std::string("\x03\xe8", 2) + "bye"));
  EXPECT_EQ(talk.receive().error().code(), Code::cancelled);
  EXPECT_EQ(talk.said(), 1000);
}

TEST(WebSocket, SendsWithTheShortestLength) {
  Talk talk("");
  ASSERT_TRUE(talk.world.await(talk.socket.send(MessageKind::text, "hi")));
  ASSERT_TRUE(talk.world.await(talk.socket.send(MessageKind::binary, std::string(126, 'x'))));
  ASSERT_TRUE(talk.world.await(talk.socket.send(MessageKind::binary, std::string(70'000, 'x'))));
  EXPECT_TRUE(talk.written.starts_with(std::string("\x81\x02hi\x82\x7e\x00\x7e", 8)));
  EXPECT_NE(talk.written.find(std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x70", 10)),
            std::string::npos);
}

struct Broken {
  const char* what;
  std::string bytes;
  int code;
};

TEST(WebSocket, EndsWithTheRightCodeWhenTheRulesAreBroken) {
  const Broken cases[] = {
      {"not masked", std::string("\x81\x02hi", 4), 1002},
      {"a reserved bit", frame(0xc1, "x"), 1002},
      {"an unknown kind", frame(0x83, "x"), 1002},
      {"a fragmented ping", frame(0x09, "x"), 1002},
      {"a long ping", frame(kPing, std::string(126, 'x')), 1002},
      {"a continuation of nothing", frame(0x80, "x"), 1002},
      {"a message inside another", frame(0x01, "x") + frame(kText, "y"), 1002},
      {"text that is not UTF-8", frame(kText, "\xff"), 1007},
      {"too large", frame(kBinary, std::string(301, 'x')), 1009},
      {"too large in pieces",
       frame(0x02, std::string(200, 'x')) + frame(0x80, std::string(101, 'x')), 1009},
      {"a length of 2^63", std::string("\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14), 1009},
      {"a close with half a code", frame(kClose, "x"), 1002},
      {"a close with a code that is never sent", frame(kClose, std::string("\x03\xee", 2)), 1002},
  };
  for (const auto& broken : cases) {
    Talk talk(broken.bytes);
    const auto received = talk.receive();
    ASSERT_FALSE(received.has_value()) << broken.what;
    EXPECT_EQ(received.error().code(), Code::invalid_argument) << broken.what;
    EXPECT_EQ(talk.said(), broken.code) << broken.what;
  }
}

TEST(WebSocket, TellsThatTheClientIsGone) {
  Talk talk(frame(kText, "hello").substr(0, 5));
  EXPECT_EQ(talk.receive().error().code(), Code::unavailable);
}

}  // namespace
}  // namespace atl::net
