#include "net/websocket.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include <boost/asio/this_coro.hpp>

#include "base/text.h"

namespace atl::net {
namespace {

enum Opcode : uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

constexpr uint8_t kFinal = 0x80, kReserved = 0x70, kMasked = 0x80;
constexpr size_t kLargestControl = 125;
constexpr size_t kReadAtOnce = 64 * 1024;
constexpr auto kWritePatience = std::chrono::seconds(30);
// RFC 6455 §1.3: what every server puts behind the client's key.
constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

bool is_control(uint8_t opcode) { return (opcode & 8) != 0; }

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool has_token(const Headers& headers, std::string_view name, std::string_view wanted) {
  for (const auto& part : split(headers.get(name), ',')) {
    if (equals_ignoring_case(trim(part), wanted)) return true;
  }
  return false;
}

std::string accept_key(std::string_view key) {
  const std::string text = std::string(key) + std::string(kMagic);
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return to_base64({reinterpret_cast<const char*>(digest), sizeof digest});
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

void append_length(std::string& out, size_t length) {
  const auto append = [&](int bytes) {
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(length >> (8 * i) & 0xff);
  };
  if (length <= kLargestControl) {
    out += static_cast<char>(length);
  } else if (length <= UINT16_MAX) {
    out += static_cast<char>(126);
    append(2);
  } else {
    out += static_cast<char>(127);
    append(8);
  }
}

// Codes that may be said on the wire.
bool is_close_code(uint64_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

}  // namespace

bool is_websocket(const Request& request) {
  return has_token(request.headers, "Upgrade", "websocket") &&
         has_token(request.headers, "Connection", "upgrade");
}

Task<std::unique_ptr<WebSocket>> WebSocket::accept(Exchange& exchange, std::string protocol,
                                                   size_t largest) {
  const auto& headers = exchange.request().headers;
  const auto refuse = [](std::string why) {
    return Error(Code::invalid_argument, "websocket: " + std::move(why)).at_stage("request");
  };
  if (!is_websocket(exchange.request())) co_return refuse("the request does not ask for one");
  if (headers.get("Sec-WebSocket-Version") != "13") {
    co_return refuse("only version 13 is spoken here");
  }
  const std::string key(trim(headers.get("Sec-WebSocket-Key")));
  const auto decoded = from_base64(key);
  if (!decoded || decoded->size() != 16)
    co_return refuse("Sec-WebSocket-Key is not 16 bytes in base64");
  if (!has_token(headers, "Sec-WebSocket-Protocol", protocol)) {
    co_return refuse("the protocol " + protocol + " is not offered")
        .with_hint("send Sec-WebSocket-Protocol: " + protocol);
  }
  Headers answer;
  answer.add("Upgrade", "websocket");
  answer.add("Sec-WebSocket-Accept", accept_key(key));
  answer.add("Sec-WebSocket-Protocol", protocol);
  const auto executor = co_await asio::this_coro::executor;
  CO_TRY(auto released, co_await exchange.upgrade(std::move(answer)));
  co_return std::make_unique<WebSocket>(executor, std::move(released), largest);
}

WebSocket::WebSocket(asio::any_io_executor executor, Released released, size_t largest)
    : stream_(std::move(released.stream)),
      in_(std::move(released.already_read)),
      largest_(largest),
      writable_(executor) {
  stream_->set_read_deadline(std::nullopt);
  writable_.set();
}

WebSocket::~WebSocket() { stream_->close(); }

void WebSocket::abort() { stream_->close(); }

Task<> WebSocket::fill(size_t bytes) {
  while (in_.size() < bytes) {
    const size_t had = in_.size();
    in_.resize(had + kReadAtOnce);
    const auto got = co_await stream_->read_some(in_.data() + had, kReadAtOnce);
    in_.resize(had + (got ? *got : 0));
    if (!got) co_return got.error();
    if (*got == 0) co_return Error(Code::unavailable, "the client went away");
  }
  co_return Result<>();
}

// What a client may not do is said to it, and told to the caller.
Task<> WebSocket::break_off(CloseCode code, std::string why) {
  [[maybe_unused]] const auto said = co_await close(code, why);
  co_return Error(Code::invalid_argument, "websocket: " + why);
}

Task<WebSocket::Frame> WebSocket::read_frame(size_t room) {
  CO_TRY_OK(co_await fill(2));
  const auto first = static_cast<uint8_t>(in_[0]);
  const auto second = static_cast<uint8_t>(in_[1]);
  Frame frame{static_cast<uint8_t>(first & 0x0f), (first & kFinal) != 0, {}};
  const bool is_known =
      frame.opcode <= kBinary || (frame.opcode >= kClose && frame.opcode <= kPong);
  if ((first & kReserved) != 0 || !is_known) {
    CO_TRY_OK(co_await break_off(CloseCode::protocol_error, "a frame of an unknown kind"));
  }
  if ((second & kMasked) == 0) {
    CO_TRY_OK(co_await break_off(CloseCode::protocol_error, "a frame that is not masked"));
  }
  uint64_t length = second & 0x7f;
  size_t header = 2;
  if (is_control(frame.opcode) && (length > kLargestControl || !frame.last)) {
    CO_TRY_OK(co_await break_off(CloseCode::protocol_error, "a control frame that is too long"));
  }
  if (length >= 126) {
    const size_t bytes = length == 126 ? 2 : 8;
    CO_TRY_OK(co_await fill(header + bytes));
    length = big_endian(std::string_view(in_).substr(header, bytes));
    header += bytes;
  }
  if (!is_control(frame.opcode) && length > room) {
    CO_TRY_OK(co_await break_off(CloseCode::too_large,
                                 "a message has at most " + std::to_string(largest_) + " bytes"));
  }
  CO_TRY_OK(co_await fill(header + 4));
  char mask[4];
  std::memcpy(mask, in_.data() + header, sizeof mask);
  header += sizeof mask;
  CO_TRY_OK(co_await fill(header + length));
  frame.payload = in_.substr(header, length);
  in_.erase(0, header + length);
  for (size_t i = 0; i < frame.payload.size(); ++i) frame.payload[i] ^= mask[i % 4];
  co_return frame;
}

Task<> WebSocket::on_control(Frame frame) {
  if (frame.opcode == kPong) co_return Result<>();
  if (frame.opcode == kPing) co_return co_await write_frame(kPong, std::move(frame.payload));
  // The close: its code is said back, if it is one.
  const std::string_view said = frame.payload;
  if (said.size() == 1 || (said.size() >= 2 && (!is_close_code(big_endian(said.substr(0, 2))) ||
                                                !is_utf8(said.substr(2))))) {
    CO_TRY_OK(co_await break_off(CloseCode::protocol_error, "a close without a valid code"));
  }
  if (!std::exchange(said_close_, true)) {
    [[maybe_unused]] const auto written = co_await write_frame(kClose, frame.payload.substr(0, 2));
  }
  stream_->close();
  co_return Error(Code::cancelled, "the client has closed the websocket");
}

Task<WebSocketMessage> WebSocket::receive() {
  WebSocketMessage message;
  bool has_begun = false;
  for (;;) {
    CO_TRY(auto frame, co_await read_frame(largest_ - message.bytes.size()));
    if (is_control(frame.opcode)) {
      CO_TRY_OK(co_await on_control(std::move(frame)));
      continue;
    }
    if ((frame.opcode == kContinuation) != has_begun) {
      CO_TRY_OK(co_await break_off(CloseCode::protocol_error, "fragments in the wrong order"));
    }
    if (!has_begun) {
      message.kind = frame.opcode == kText ? MessageKind::text : MessageKind::binary;
      message.bytes = std::move(frame.payload);
    } else {
      message.bytes += frame.payload;
    }
    has_begun = true;
    if (!frame.last) continue;
    if (message.kind == MessageKind::text && !is_utf8(message.bytes)) {
      CO_TRY_OK(co_await break_off(CloseCode::bad_data, "text that is not UTF-8"));
    }
    co_return message;
  }
}

Task<> WebSocket::write_frame(uint8_t opcode, std::string payload) {
  while (!writable_.is_set()) co_await writable_.wait();
  if (!stream_->is_open()) co_return Error(Code::unavailable, "the client went away");
  writable_.reset();
  std::string head(1, static_cast<char>(kFinal | opcode));
  append_length(head, payload.size());
  stream_->set_write_deadline(std::chrono::steady_clock::now() + kWritePatience);
  const Pieces pieces{head, payload, {}};
  auto written = co_await stream_->write_pieces(pieces);
  stream_->set_write_deadline(std::nullopt);
  writable_.set();
  co_return written;
}

Task<> WebSocket::send(MessageKind kind, std::string bytes) {
  if (said_close_) co_return Error(Code::cancelled, "the websocket is closed");
  const uint8_t opcode = kind == MessageKind::text ? kText : kBinary;
  co_return co_await write_frame(opcode, std::move(bytes));
}

Task<> WebSocket::close(CloseCode code, std::string reason) {
  if (std::exchange(said_close_, true)) co_return Result<>();
  const auto number = static_cast<uint16_t>(code);
  std::string payload{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  payload += reason.substr(0, kLargestControl - payload.size());
  auto written = co_await write_frame(kClose, std::move(payload));
  stream_->close();
  co_return written;
}

}  // namespace atl::net
