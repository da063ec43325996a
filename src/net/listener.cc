#include "net/listener.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace atl::net {
namespace {

constexpr int kBacklog = 4096;
// Accepted in one go before the other connections get their turn.
constexpr int kBatch = 32;
// Out of descriptors or memory: the queue keeps the clients, and we look again a little later.
constexpr auto kPause = std::chrono::milliseconds(50);

Peer describe(const sockaddr_storage& address) {
  Peer peer;
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    peer.port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    peer.port = ntohs(v6.sin6_port);
  }
  peer.address = text;
  return peer;
}

// Errors of the connection that was to be accepted, not of the listener; accept(2) lists them.
bool concerns_one_client(int number) {
  switch (number) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EPERM:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct Listener::Core {
  Core(const asio::any_io_executor& executor, OnAccept accepted)
      : socket(executor), timer(executor), on_accept(std::move(accepted)) {}

  // Takes up to a batch; false when the system is out of something.
  bool accept_batch() {
    for (int i = 0; i < kBatch && socket.is_open(); ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      Fd client(::accept4(socket.native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client) {
        if (errno == EAGAIN) return true;
        if (concerns_one_client(errno)) continue;
        return false;
      }
      auto stream = adopt_socket(socket.get_executor(), std::move(client));
      if (!stream) continue;
      Peer peer = describe(address);
      peer.credentials = (*stream)->peer_credentials();
      on_accept(std::move(*stream), std::move(peer));
    }
    return true;
  }

  asio::posix::stream_descriptor socket;
  asio::steady_timer timer;
  OnAccept on_accept;
};

Result<std::unique_ptr<Listener>> Listener::create(const asio::any_io_executor& executor, Fd socket,
                                                   OnAccept on_accept) {
  auto core = std::make_shared<Core>(executor, std::move(on_accept));
  boost::system::error_code failed;
  core->socket.assign(socket.get(), failed);
  if (failed) return os_error_from(failed.value(), "watching a listening socket");
  (void)socket.release();
  core->socket.native_non_blocking(true, failed);
  if (failed) return os_error_from(failed.value(), "watching a listening socket");
  spawn(executor, accept_loop(core));
  return std::unique_ptr<Listener>(new Listener(std::move(core)));
}

Listener::~Listener() { close(); }

void Listener::close() {
  boost::system::error_code ignored;
  if (core_->socket.is_open()) core_->socket.close(ignored);
  core_->timer.cancel();
}

Task<> Listener::accept_loop(std::shared_ptr<Core> core) {
  const auto tuple = asio::as_tuple(asio::use_awaitable);
  while (core->socket.is_open()) {
    const auto [failed] =
        co_await core->socket.async_wait(asio::posix::stream_descriptor::wait_read, tuple);
    if (failed || !core->socket.is_open()) break;
    if (core->accept_batch()) continue;
    core->timer.expires_after(kPause);
    co_await core->timer.async_wait(tuple);
  }
  core->on_accept = nullptr;
  co_return Result<>();
}

uint16_t Listener::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int number = core_->socket.native_handle();
  if (::getsockname(number, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return describe(address).port;
}

Result<Fd> bind_tcp(const std::string& address, uint16_t port) {
  boost::system::error_code failed;
  const auto literal = asio::ip::make_address(address, failed);
  if (failed) {
    return Error(Code::invalid_argument, fmt::format("listening on {}: no IP address", address));
  }
  const asio::ip::tcp::endpoint endpoint(literal, port);
  Fd socket(::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return os_error("socket");
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), endpoint.data(), socklen_t(endpoint.size())) != 0) {
    return os_error("listening on", fmt::format("{}:{}", address, port));
  }
  return socket;
}

Result<Fd> listen_at_tcp(const std::string& address, uint16_t port) {
  TRY(auto socket, bind_tcp(address, port));
  if (::listen(socket.get(), kBacklog) != 0) {
    return os_error("listening on", fmt::format("{}:{}", address, port));
  }
  return socket;
}

}  // namespace atl::net
