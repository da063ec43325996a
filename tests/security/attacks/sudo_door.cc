// Abuses `sudo`: has the agent, which has more rights than we, start attacks for us as root. It
// knocks by hand, because what stands at the door need not be our `sudo`; what it gets is root of
// the sandbox, confined like everybody else.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

void add_text(std::string& packet, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  packet.append(reinterpret_cast<const char*>(&size), sizeof size);
  packet += text;
}

void add_count(std::string& packet, uint32_t count) {
  packet.append(reinterpret_cast<const char*>(&count), sizeof count);
}

// "version, user, arguments, environment", as agent/sudo/ask.h says.
std::string question(const std::string& program, const std::string& attack) {
  std::string packet(1, 1);
  add_text(packet, "root");
  add_count(packet, 2);
  add_text(packet, program);
  add_text(packet, attack);
  std::string variables;
  uint32_t count = 0;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (!text.starts_with("ATOLL_ATTACK_") || equals == std::string::npos) continue;
    add_text(variables, text.substr(0, equals));
    add_text(variables, text.substr(equals + 1));
    ++count;
  }
  add_count(packet, count);
  return packet + variables;
}

bool send_with(int door, std::string packet, const int (&descriptors)[4]) {
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  return sendmsg(door, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
}

// What the attack, started by the agent as root, says about itself.
Outcome by_sudo(const char* attack) {
  if (!in_box()) return not_applicable("only in a sandbox");
  char program[4096]{};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return denied("find myself");
  const int door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, "atoll-sudo", 10);
  if (connect(door, reinterpret_cast<const sockaddr*>(&address),
              offsetof(sockaddr_un, sun_path) + 11) != 0) {
    return denied("knock at the door");
  }
  int said[2];
  if (pipe(said) != 0) return denied("pipe");
  const int null = open("/dev/null", O_RDONLY);
  const int here = open(".", O_PATH | O_DIRECTORY);
  if (!send_with(door, question(program, attack), {null, said[1], 2, here})) return denied("ask");
  close(said[1]);
  char answer[4096];
  if (recv(door, answer, sizeof answer, 0) <= 0) return denied("wait for the answer");
  const auto line = read_all(said[0]);
  if (!line || line->empty()) return denied(EPERM, "the agent does not start it");
  if (line->find("\"outcome\":\"reached\"") == std::string::npos) return denied(EPERM, *line);
  return reached("root by sudo: " + *line);
}

}  // namespace

ATTACK(sudo_mount, .title = "mount by sudo", .stopped_by = kMountCall, .rootless = kNoControl) {
  return by_sudo("mount_tmpfs");
}

ATTACK(sudo_secret, .title = "read a file of the host's root by sudo",
       .stopped_by = Layer::root | Layer::user_namespace, .rootless = kNoControl) {
  return by_sudo("secret_of_root");
}

ATTACK(sudo_fork_bomb, .title = "a fork bomb by sudo", .setting = Setting::limited,
       .stopped_by = Layer::cgroups, .rootless = kNoControl) {
  return by_sudo("fork_bomb");
}
