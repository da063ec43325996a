// Arbitrary bytes as the frames of a client.
//
// The first byte chooses how the bytes are cut into reads. The limit is small, so that the fuzzer
// reaches it.
#include <cstdint>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/check.h"
#include "base/text.h"
#include "net/scripted_stream.h"
#include "net/websocket.h"

namespace atl::net {
namespace {

constexpr size_t kLargest = 300;

Task<> listen(WebSocket* socket) {
  for (;;) {
    CO_TRY(const auto message, co_await socket->receive());
    ATOLL_CHECK(message.bytes.size() <= kLargest);
    ATOLL_CHECK(message.kind == MessageKind::binary || is_utf8(message.bytes));
    CO_TRY_OK(co_await socket->send(message.kind, message.bytes));
  }
}

void fuzz(std::string bytes, uint8_t step) {
  asio::io_context io(1);
  std::string written;
  Released released{std::make_unique<ScriptedStream>(std::move(bytes), step, &written), ""};
  WebSocket socket(io.get_executor(), std::move(released), kLargest);
  bool done = false;
  spawn(io.get_executor(), listen(&socket), [&](Result<>) { done = true; });
  io.run();
  ATOLL_CHECK(done);
  // A server's frames are never masked.
  ATOLL_CHECK(written.size() < 2 || (static_cast<uint8_t>(written[1]) & 0x80) == 0);
}

}  // namespace
}  // namespace atl::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  atl::net::fuzz(std::string(reinterpret_cast<const char*>(data + 1), size - 1), data[0]);
  return 0;
}
