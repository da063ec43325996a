// Joins the network namespace of a process outside, and then asks the host's loopback for the
// canary.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(setns_victim, .title = "join the network of a process outside", .dossier = 6,
       .user = User::root, .stopped_by = kOutsideProcess | Layer::seccomp | Layer::capabilities) {
  const std::string path = "/proc/" + told("VICTIM_PID") + "/ns/net";
  const int space = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0) return denied("open " + path);
  if (setns(space, CLONE_NEWNET) != 0) return denied("setns");
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return denied("socket");
  const sockaddr_in address{.sin_family = AF_INET,
                            .sin_port = htons(static_cast<uint16_t>(told_number("VICTIM_TCP"))),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return denied("connect");
  }
  const auto answer = read_all(made);
  if (answer != canary()) return denied(EPROTO, "the canary did not answer");
  return reached("the host's loopback by setns");
}
