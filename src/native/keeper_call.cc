#include "native/keeper_call.h"

#include <poll.h>

#include <cerrno>

#include "guest/protocol.h"
#include "os/socket.h"

namespace atl::native {
namespace {

constexpr int kLookEveryMs = 200;

}  // namespace

Result<std::string> call_keeper(int socket, guest::FrameType call, int directory,
                                const std::atomic<bool>& stopping) {
  std::string request;
  guest::append_frame(request, call, 0, {});
  const int given[] = {directory};
  TRY_OK(os::send_some(socket, request, given));
  const Micros deadline = system_clock().boot() + kKeeperPatience;
  guest::FrameBuffer received;
  while (system_clock().boot() < deadline) {
    if (stopping) return Error(Code::unavailable, "the daemon is stopping");
    pollfd wait{socket, POLLIN, 0};
    if (poll(&wait, 1, kLookEveryMs) <= 0) continue;
    constexpr size_t kRoom = 4096;
    const auto got = os::receive_some(socket, {received.prepare(kRoom), kRoom});
    if (!got && got.error().os_errno() == EAGAIN) continue;
    if (!got || got->bytes == 0) return Error(Code::unavailable, "the sandbox ended meanwhile");
    received.commit(got->bytes);
    TRY(const auto frame, received.next());
    if (!frame) continue;
    if (frame->type == guest::FrameType::ok) return std::string(frame->body);
    TRY(auto error, guest::decode_error(frame->body));
    return error;
  }
  return Error(Code::deadline_exceeded, "the sandbox's gatekeeper takes too long");
}

void answer_keeper_call(int socket, const Result<std::string>& answer) {
  std::string frame;
  if (answer) {
    guest::append_frame(frame, guest::FrameType::ok, 0, *answer);
  } else {
    guest::append_frame(frame, guest::FrameType::error, 0, guest::encode_error(answer.error()));
  }
  // Small enough to fit at once into a socket that nobody has written to.
  static_cast<void>(os::send_some(socket, frame));
}

}  // namespace atl::native
