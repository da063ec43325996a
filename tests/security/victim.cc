#include "tests/security/victim.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/security/canary.h"
#include "tests/security/json_line.h"

namespace atl::attack {
namespace {

char in_memory[128];

int inet_socket(int type, int& port) {
  const int made = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  if (bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return -1;
  if (type == SOCK_STREAM && listen(made, 16) != 0) return -1;
  getsockname(made, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return made;
}

// A name that begins with '@' is abstract.
int unix_socket(const std::string& name) {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  if (name.size() >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (bind(made, reinterpret_cast<sockaddr*>(&address), size) != 0) return -1;
  if (name[0] != '@') chmod(name.c_str(), 0666);
  return listen(made, 16) == 0 ? made : -1;
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int be_victim() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Attacks wait for their answer and may leave first.
  signal(SIGPIPE, SIG_IGN);
  umask(0);
  const std::string secret = canary();
  std::snprintf(in_memory, sizeof in_memory, "%s", secret.c_str());
  const std::string token = told("TOKEN");

  int tcp_port = 0;
  int udp_port = 0;
  const int tcp = inet_socket(SOCK_STREAM, tcp_port);
  const int udp = inet_socket(SOCK_DGRAM, udp_port);
  const std::string abstract_name = "@atoll-victim-" + token;
  const int abstract_socket = unix_socket(abstract_name);
  const std::string socket_path = told("OUTSIDE") + "/victim.sock";
  const int path_socket = unix_socket(socket_path);
  if (tcp < 0 || udp < 0 || abstract_socket < 0 || path_socket < 0) return fail("sockets");

  const int file = memfd_create("atoll-victim", 0);
  if (file < 0 || write(file, secret.data(), secret.size()) < 0) return fail("memfd");

  const key_t shm_key = 0x41000000 | (getpid() & 0xffffff);
  const int shm = shmget(shm_key, 4096, IPC_CREAT | IPC_EXCL | 0666);
  if (shm < 0) return fail("shmget");
  auto* segment = static_cast<char*>(shmat(shm, nullptr, 0));
  std::snprintf(segment, 128, "%s", secret.c_str());

  const std::string queue_name = "/atoll-victim-" + token;
  mq_attr shape{.mq_maxmsg = 4, .mq_msgsize = 128};
  const mqd_t queue = mq_open(queue_name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0666, &shape);
  if (queue < 0) return fail("mq_open");
  mq_send(queue, secret.data(), secret.size(), 0);

  const std::string shm_file = "/dev/shm/atoll-victim-" + token;
  if (!write_all(shm_file, secret)) return fail("shm file");

  const std::string key_name = "atoll-victim-" + token;
  const long key = syscall(SYS_add_key, "user", key_name.c_str(), secret.data(), secret.size(),
                           KEY_SPEC_USER_KEYRING);

  JsonLine line;
  line.add("PID", getpid());
  line.add("ADDRESS", static_cast<long>(reinterpret_cast<uintptr_t>(in_memory)));
  line.add("FD", file);
  line.add("TCP", tcp_port);
  line.add("UDP", udp_port);
  line.add("ABSTRACT", abstract_name);
  line.add("SOCKET", socket_path);
  line.add("SHM_KEY", static_cast<long>(shm_key));
  line.add("QUEUE", queue_name);
  line.add("SHM_FILE", shm_file);
  if (key >= 0) line.add("KEY", key_name);
  std::puts(line.text().c_str());
  std::fflush(stdout);

  int visits[4] = {};
  pollfd waiting[] = {{0, POLLIN, 0},
                      {tcp, POLLIN, 0},
                      {udp, POLLIN, 0},
                      {abstract_socket, POLLIN, 0},
                      {path_socket, POLLIN, 0}};
  for (;;) {
    if (poll(waiting, 5, -1) < 0) continue;
    for (int number = 1; number < 5; ++number) {
      if ((waiting[number].revents & POLLIN) == 0) continue;
      ++visits[number - 1];
      if (waiting[number].fd == udp) {
        char byte[16];
        sockaddr_in from{};
        socklen_t size = sizeof from;
        recvfrom(udp, byte, sizeof byte, 0, reinterpret_cast<sockaddr*>(&from), &size);
        sendto(udp, secret.data(), secret.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
        continue;
      }
      const int visitor = accept4(waiting[number].fd, nullptr, nullptr, SOCK_CLOEXEC);
      (void)!write(visitor, secret.data(), secret.size());
      close(visitor);
    }
    char byte = 0;
    if (waiting[0].revents != 0 && read(0, &byte, 1) <= 0) break;
  }

  JsonLine tally;
  tally.add("tcp", visits[0]);
  tally.add("udp", visits[1]);
  tally.add("abstract", visits[2]);
  tally.add("path", visits[3]);
  std::puts(tally.text().c_str());
  shmctl(shm, IPC_RMID, nullptr);
  mq_unlink(queue_name.c_str());
  unlink(shm_file.c_str());
  unlink(socket_path.c_str());
  if (key >= 0) syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
  return 0;
}

}  // namespace atl::attack
