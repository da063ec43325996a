// WebSocket (RFC 6455): messages over one HTTP connection, the server's side.
//
//   if (is_websocket(exchange.request())) {
//     CO_TRY(auto socket, co_await WebSocket::accept(exchange, "atoll.exec.v1"));
//     CO_TRY(auto message, co_await socket->receive());
//
// Pings are answered, fragments put together, the close is said back. Everything is bounded: a
// message beyond `largest`, a frame that is not masked, text that is not UTF-8 and every other
// break of the rules end the connection with the code that the RFC has for it. Used on one thread;
// one coroutine receives, any number send.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/event.h"
#include "net/http_server.h"

namespace atl::net {

enum class MessageKind : uint8_t { text, binary };

struct WebSocketMessage {
  MessageKind kind = MessageKind::text;
  std::string bytes;
};

// As RFC 6455 §7.4.1 numbers them.
enum class CloseCode : uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  bad_data = 1007,
  policy = 1008,
  too_large = 1009,
  internal_error = 1011,
};

// Whether the client asks for one at all.
bool is_websocket(const Request& request);

class WebSocket final {
 public:
  static constexpr size_t kLargestMessage = 1 << 20;

  // Answers 101. Code::invalid_argument for a handshake that is not one, or that does not offer
  // `protocol`; nothing has been answered then.
  static Task<std::unique_ptr<WebSocket>> accept(Exchange& exchange, std::string protocol,
                                                 size_t largest = kLargestMessage);
  // Over a stream that has shaken hands already.
  WebSocket(asio::any_io_executor executor, Released released, size_t largest);
  ~WebSocket();

  // The next message; Code::cancelled when the client has closed, Code::invalid_argument when it
  // broke the rules, Code::unavailable when it is gone.
  Task<WebSocketMessage> receive();
  // Returns when the transport has taken it. Waits for those before.
  Task<> send(MessageKind kind, std::string bytes);
  // Says why and ends; the second time nothing.
  Task<> close(CloseCode code, std::string reason);
  // Until when the next bytes must have come; nullopt = whenever.
  void set_read_deadline(std::optional<TimePoint> deadline) {
    stream_->set_read_deadline(deadline);
  }
  // Ends at once: receive() and send() return.
  void abort();

 private:
  struct Frame {
    uint8_t opcode = 0;
    bool last = false;
    std::string payload;
  };

  Task<Frame> read_frame(size_t room);
  Task<> fill(size_t bytes);
  Task<> on_control(Frame frame);
  Task<> break_off(CloseCode code, std::string why);
  Task<> write_frame(uint8_t opcode, std::string payload);

  StreamPtr stream_;
  std::string in_;
  size_t largest_;
  Event writable_;  // set while nobody writes
  bool said_close_ = false;
};

}  // namespace atl::net
