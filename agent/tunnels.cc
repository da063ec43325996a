#include "agent/tunnels.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/connection.h"
#include "guest/frame.h"

namespace atl::agent {
namespace {

constexpr size_t kMostTunnels = 256;
constexpr size_t kPiece = 64 * 1024;
constexpr int kAttempts = 2;

Error refused(uint16_t port) {
  return Error(Code::unavailable,
               "nothing listens on port " + std::to_string(port) + " in the sandbox")
      .with_hint("start the service first, on 127.0.0.1 or on all addresses");
}

}  // namespace

Tunnels::~Tunnels() {
  for (auto& [channel, tunnel] : tunnels_) {
    if (tunnel->watched != 0) poller_.remove(tunnel->socket.get());
  }
}

Tunnels::Tunnel* Tunnels::find(uint32_t channel) {
  const auto found = tunnels_.find(channel);
  return found == tunnels_.end() ? nullptr : found->second.get();
}

Result<Fd> Tunnels::connect_to(uint16_t port, bool ipv6) const {
  Fd fd(socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return os_error("making a socket");
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A service that listens and accepts nobody is given up after some seconds.
  setsockopt(fd.get(), IPPROTO_TCP, TCP_SYNCNT, &kAttempts, sizeof kAttempts);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* address =
      ipv6 ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  if (connect(fd.get(), address, ipv6 ? sizeof six : sizeof four) == 0 || errno == EINPROGRESS)
    return fd;
  return os_error("connecting");
}

Result<> Tunnels::dial(uint32_t channel, const guest::Dial& request) {
  if (request.port == 0) return Error(Code::invalid_argument, "0 is no port");
  if (tunnels_.contains(channel)) return Error(Code::conflict, "the channel is taken");
  if (tunnels_.size() >= kMostTunnels)
    return Error(Code::resource_exhausted, "256 connections to ports of this sandbox are open");
  auto tunnel = std::make_unique<Tunnel>();
  tunnel->channel = channel;
  tunnel->port = request.port;
  tunnel->credit = request.credit;
  auto socket = connect_to(request.port, false);
  if (!socket) {
    tunnel->tries_ipv6 = true;
    TRY(socket, connect_to(request.port, true));
  }
  tunnel->socket = std::move(*socket);
  Tunnel& added = *(tunnels_[channel] = std::move(tunnel));
  watch(added);
  return {};
}

void Tunnels::watch(Tunnel& tunnel) {
  uint32_t wanted = 0;
  if (tunnel.connecting || !tunnel.pending.empty()) wanted |= EPOLLOUT;
  if (!tunnel.connecting && !tunnel.read_ended && tunnel.credit > 0 && connection_.has_room())
    wanted |= EPOLLIN;
  if (wanted == tunnel.watched) return;
  const int fd = tunnel.socket.get();
  const uint32_t channel = tunnel.channel;
  Result<> done;
  if (wanted == 0) {
    poller_.remove(fd);
  } else if (tunnel.watched == 0) {
    done = poller_.add(fd, wanted, [this, channel](uint32_t events) { on_ready(channel, events); });
  } else {
    done = poller_.change(fd, wanted);
  }
  tunnel.watched = done ? wanted : 0;
}

void Tunnels::on_ready(uint32_t channel, uint32_t events) {
  Tunnel* tunnel = find(channel);
  if (tunnel == nullptr) return;
  if (tunnel->connecting) return on_connected(*tunnel);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some(*tunnel);
  tunnel = find(channel);
  if (tunnel != nullptr && (events & EPOLLOUT) != 0) flush(*tunnel);
  tunnel = find(channel);
  if (tunnel != nullptr) watch(*tunnel);
}

void Tunnels::on_connected(Tunnel& tunnel) {
  int failure = 0;
  socklen_t size = sizeof failure;
  if (getsockopt(tunnel.socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
  if (failure != 0 && !tunnel.tries_ipv6) {
    if (auto again = connect_to(tunnel.port, true)) {
      poller_.remove(tunnel.socket.get());
      tunnel.watched = 0;
      tunnel.tries_ipv6 = true;
      tunnel.socket = std::move(*again);
      return watch(tunnel);
    }
  }
  if (failure != 0) return fail(tunnel, refused(tunnel.port));
  tunnel.connecting = false;
  connection_.send(guest::FrameType::started, tunnel.channel, guest::encode(guest::Started{}));
  watch(tunnel);
}

void Tunnels::read_some(Tunnel& tunnel) {
  char buffer[kPiece];
  while (!tunnel.read_ended && tunnel.credit > 0 && connection_.has_room()) {
    const size_t most = std::min<uint64_t>(tunnel.credit, sizeof buffer);
    const ssize_t got = recv(tunnel.socket.get(), buffer, most, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) {
      return fail(tunnel, os_error("reading from the service"));
    }
    if (got == 0) {
      tunnel.read_ended = true;
      connection_.send_ok(tunnel.channel);
      return;
    }
    connection_.send_output(tunnel.channel, 0, tunnel.offset, {buffer, static_cast<size_t>(got)});
    tunnel.offset += static_cast<uint64_t>(got);
    tunnel.credit -= static_cast<uint64_t>(got);
  }
}

Result<> Tunnels::write(uint32_t answer, const guest::TunnelData& data) {
  Tunnel* tunnel = find(data.channel);
  if (tunnel == nullptr || tunnel->connecting)
    return Error(Code::unavailable, "the connection is gone");
  if (tunnel->write_ends) return Error(Code::conflict, "it was said that no more comes");
  // A client waits for each answer; one that does not is not ours.
  if (tunnel->pending.size() >= 4)
    return Error(Code::resource_exhausted, "too much waits to be written");
  tunnel->pending.push_back({answer, std::string(data.bytes), 0});
  flush(*tunnel);
  if (Tunnel* left = find(data.channel)) watch(*left);
  return {};
}

void Tunnels::flush(Tunnel& tunnel) {
  while (!tunnel.pending.empty()) {
    auto& next = tunnel.pending.front();
    const ssize_t put = send(tunnel.socket.get(), next.bytes.data() + next.written,
                             next.bytes.size() - next.written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) return fail(tunnel, os_error("writing to the service"));
    next.written += static_cast<size_t>(put);
    if (next.written < next.bytes.size()) continue;
    connection_.send_ok(next.answer);
    tunnel.pending.pop_front();
  }
  if (tunnel.write_ends) shutdown(tunnel.socket.get(), SHUT_WR);
}

Result<> Tunnels::finish(uint32_t channel) {
  Tunnel* tunnel = find(channel);
  if (tunnel == nullptr) return Error(Code::unavailable, "the connection is gone");
  tunnel->write_ends = true;
  if (!tunnel->connecting) flush(*tunnel);
  return {};
}

void Tunnels::fail(Tunnel& tunnel, const Error& error) {
  for (const auto& waiting : tunnel.pending) connection_.send_error(waiting.answer, error);
  connection_.send_error(tunnel.channel, error);
  close(tunnel.channel);
}

bool Tunnels::add_credit(uint32_t channel, uint64_t bytes) {
  Tunnel* tunnel = find(channel);
  if (tunnel == nullptr) return false;
  tunnel->credit += std::min<uint64_t>(bytes, UINT64_MAX - tunnel->credit);
  watch(*tunnel);
  return true;
}

bool Tunnels::close(uint32_t channel) {
  const auto found = tunnels_.find(channel);
  if (found == tunnels_.end()) return false;
  if (found->second->watched != 0) poller_.remove(found->second->socket.get());
  tunnels_.erase(found);
  return true;
}

void Tunnels::pump() {
  for (auto& [channel, tunnel] : tunnels_) watch(*tunnel);
}

}  // namespace atl::agent
