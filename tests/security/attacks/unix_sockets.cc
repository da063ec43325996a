// Unix sockets of the host. Abstract names belong to the network namespace, and Landlock scopes
// them; names in a directory are as visible as the directory is (Landlock does not look at
// connect).
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

Outcome ask(const std::string& name) {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return denied("socket(AF_UNIX)");
  sockaddr_un address{.sun_family = AF_UNIX};
  if (name.empty() || name.size() >= sizeof address.sun_path)
    return not_applicable("no such socket");
  memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return denied("connect to " + name);
  }
  const auto answer = read_all(made);
  if (answer != canary()) return denied(EPROTO, "that was not the victim");
  return reached("the victim behind " + name);
}

}  // namespace

ATTACK(abstract_socket, .title = "connect to an abstract Unix socket outside", .dossier = 41,
       .stopped_by = Layer::network_namespace | Layer::landlock) {
  return ask(told("VICTIM_ABSTRACT"));
}

ATTACK(path_socket, .title = "connect to a Unix socket of the host by its path",
       .stopped_by = Layer::root) {
  return ask(told("VICTIM_SOCKET"));
}
