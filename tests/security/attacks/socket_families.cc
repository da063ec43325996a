// Socket families that no namespace confines, or that only root needs. A vsock in a virtual machine
// leads to the host's control ports whatever the network namespace; nothing is connected here.
#include <linux/if_alg.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(
    vsock_socket, .title = "a vsock, which no network namespace confines", .dossier = 16,
    .stopped_by = Layer::seccomp,
    .missing = [] { return missing_socket(AF_VSOCK, SOCK_STREAM, 0, "AF_VSOCK"); }) {
  const int made = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return denied("socket(AF_VSOCK)");
  close(made);
  return reached("a vsock");
}

ATTACK(
    alg_socket, .title = "the kernel's ciphers", .dossier = 16, .stopped_by = Layer::seccomp,
    .missing = [] { return missing_socket(AF_ALG, SOCK_SEQPACKET, 0, "AF_ALG"); }) {
  const int made = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (made < 0) return denied("socket(AF_ALG)");
  close(made);
  return reached("an AF_ALG socket");
}

ATTACK(
    packet_socket, .title = "raw packets", .dossier = 16, .user = User::root,
    .stopped_by = kPrivilegedCall, .rootless = Layer::seccomp | Layer::capabilities,
    .missing = [] { return missing_socket(AF_PACKET, SOCK_RAW, 0, "AF_PACKET"); }) {
  const int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
  if (made < 0) return denied("socket(AF_PACKET)");
  close(made);
  return reached("a packet socket");
}
