// The host's loopback: where databases, metadata proxies and the daemon itself listen. The network
// namespace alone keeps it away: Landlock leaves TCP alone, so that servers can run in a sandbox.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

sockaddr_in loopback(long port) {
  return {.sin_family = AF_INET,
          .sin_port = htons(static_cast<uint16_t>(port)),
          .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

}  // namespace

ATTACK(tcp_to_host, .title = "connect to a port of the host's loopback", .dossier = 17,
       .stopped_by = Layer::network_namespace) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return denied("socket");
  const sockaddr_in address = loopback(told_number("VICTIM_TCP"));
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return denied("connect");
  }
  const auto answer = read_all(made);
  if (answer != canary()) return denied(EPROTO, "that was not the victim");
  return reached("a TCP port of the host");
}

ATTACK(udp_to_host, .title = "send to a UDP port of the host's loopback", .dossier = 17,
       .stopped_by = Layer::network_namespace) {
  const int made = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (made < 0) return denied("socket");
  const sockaddr_in address = loopback(told_number("VICTIM_UDP"));
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return denied("connect");
  }
  if (send(made, "?", 1, 0) != 1) return denied("send");
  pollfd answered{made, POLLIN, 0};
  if (poll(&answered, 1, 2'000) != 1) return denied(ETIMEDOUT, "nobody answers");
  char text[128] = {};
  if (recv(made, text, sizeof text - 1, 0) < 0) return denied("recv");
  if (text != canary()) return denied(EPROTO, "that was not the victim");
  return reached("a UDP port of the host");
}
