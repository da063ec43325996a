#include "bench/http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "os/file.h"
#include "os/socket.h"

namespace atl::bench {
namespace {

Fd connect_to_port(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!socket ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connecting");
    std::exit(1);
  }
  const int yes = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

}  // namespace

Fd connect_to(const std::string& address) {
  if (const int port = std::atoi(address.c_str()); port > 0) return connect_to_port(port);
  auto socket = os::connect_at(AT_FDCWD, address, os::SocketKind::stream);
  if (!socket) {
    std::fprintf(stderr, "%s\n", socket.error().message().c_str());
    std::exit(1);
  }
  fcntl(socket->get(), F_SETFL, 0);  // blocking
  return std::move(*socket);
}

std::string make_request(const std::string& method, const std::string& path,
                         const std::string& body, const std::string& key) {
  std::string request = method + " " + path + " HTTP/1.1\r\nHost: atoll\r\n";
  if (!key.empty()) request += "Authorization: Bearer " + key + "\r\n";
  if (!body.empty()) request += "Content-Type: application/json\r\n";
  return request + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string round_trip(int socket, const std::string& request) {
  if (!os::write_all(socket, request)) std::abort();
  std::string answer;
  size_t wanted = std::string::npos;
  char buffer[65536];
  while (answer.size() < wanted) {
    const ssize_t got = read(socket, buffer, sizeof buffer);
    if (got <= 0) std::abort();
    answer.append(buffer, static_cast<size_t>(got));
    const size_t head = answer.find("\r\n\r\n");
    if (wanted != std::string::npos || head == std::string::npos) continue;
    const size_t length = answer.find("ontent-Length: ");
    const bool has_body = length != std::string::npos && length < head;
    if (!has_body && answer.find(" 204 ") > 16) std::abort();
    wanted = head + 4 + (has_body ? std::strtoul(answer.c_str() + length + 15, nullptr, 10) : 0);
  }
  return answer;
}

}  // namespace atl::bench
