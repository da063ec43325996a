// Arbitrary bytes as a stream of frames from a hostile agent or a hostile client, and as the body
// of each message.
#include <cstdint>
#include <cstring>

#include "guest/frame.h"
#include "guest/protocol.h"

namespace {

using namespace atl;
using namespace atl::guest;

void decode_all(std::string_view body) {
  static_cast<void>(decode_hello(body));
  static_cast<void>(decode_hello_ok(body));
  static_cast<void>(decode_exec(body));
  static_cast<void>(decode_tool(body));
  static_cast<void>(decode_attach(body));
  static_cast<void>(decode_started(body));
  static_cast<void>(decode_output(body));
  static_cast<void>(decode_gap(body));
  static_cast<void>(decode_exited(body));
  static_cast<void>(decode_stdin(body));
  static_cast<void>(decode_signal(body));
  static_cast<void>(decode_processes(body));
  static_cast<void>(decode_stats(body));
  static_cast<void>(decode_error(body));
  static_cast<void>(decode_hand_over(body));
  static_cast<void>(decode_renew(body));
  static_cast<void>(decode_path(body));
  static_cast<void>(decode_move(body));
  static_cast<void>(decode_entries(body));
  static_cast<void>(decode_diff(body));
  static_cast<void>(decode_diff_page(body));
  static_cast<void>(decode_opened(body));
  static_cast<void>(decode_resume_write(body));
  static_cast<void>(decode_read(body));
  static_cast<void>(decode_write(body));
  static_cast<void>(decode_handle(body));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  decode_all(bytes);

  FrameBuffer buffer;
  // The first byte decides how the rest is cut into reads.
  const size_t piece = size > 0 ? data[0] + 1u : 1u;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const auto part = bytes.substr(at, piece);
    std::memcpy(buffer.prepare(part.size()), part.data(), part.size());
    buffer.commit(part.size());
    for (;;) {
      auto frame = buffer.next();
      if (!frame) return 0;
      if (!*frame) break;
      decode_all((*frame)->body);
    }
  }
  return 0;
}
