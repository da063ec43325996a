#include "guest/refusal.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "guest/frame.h"
#include "guest/protocol.h"

namespace atl::guest {
namespace {

constexpr int kPatienceMs = 2'000;

}  // namespace

void refuse_first_call(int socket, const Error& error) {
  FrameBuffer received;
  for (;;) {
    pollfd wait{socket, POLLIN, 0};
    if (poll(&wait, 1, kPatienceMs) <= 0) return;
    const ssize_t got = read(socket, received.prepare(4096), 4096);
    if (got <= 0) return;
    received.commit(static_cast<size_t>(got));
    const auto hello = received.next();
    if (!hello) return;
    if (!*hello) continue;
    std::string answer;
    append_frame(answer, FrameType::error, (*hello)->channel, encode_error(error));
    // Small enough to fit at once into a socket that nobody has written to.
    static_cast<void>(send(socket, answer.data(), answer.size(), MSG_NOSIGNAL));
    return;
  }
}

}  // namespace atl::guest
