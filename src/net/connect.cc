#include "net/connect.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/event.h"
#include "net/socket_stream_internal.h"
#include "net/unix_path.h"

namespace atl::net {
namespace {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
  tcp::resolver resolver;
  Event done;
  boost::system::error_code failed;
  std::vector<tcp::endpoint> found;
};

Task<std::vector<tcp::endpoint>> resolve(asio::any_io_executor executor, std::string host,
                                         uint16_t port, TimePoint deadline) {
  boost::system::error_code no_literal;
  const auto literal = asio::ip::make_address(host, no_literal);
  if (!no_literal) co_return std::vector{tcp::endpoint(literal, port)};

  // Shared with the handler, because the lookup goes on when the deadline has passed.
  auto lookup = std::make_shared<Lookup>(executor);
  lookup->resolver.async_resolve(
      host, std::to_string(port),
      [lookup](boost::system::error_code failed, const tcp::resolver::results_type& results) {
        lookup->failed = failed;
        for (const auto& entry : results) lookup->found.push_back(entry.endpoint());
        lookup->done.set();
      });
  const bool in_time = co_await lookup->done.wait_until(deadline);
  if (!in_time) {
    lookup->resolver.cancel();
    co_return Error(Code::deadline_exceeded, fmt::format("looking up {}: too slow", host));
  }
  if (lookup->failed == asio::error::host_not_found || lookup->failed == asio::error::no_data) {
    co_return Error(Code::not_found, fmt::format("looking up {}: no such host", host));
  }
  if (lookup->failed) {
    co_return Error(Code::unavailable,
                    fmt::format("looking up {}: {}", host, lookup->failed.message()));
  }
  co_return std::move(lookup->found);
}

Task<StreamPtr> connect_to(asio::any_io_executor executor, tcp::endpoint endpoint,
                           TimePoint deadline) {
  const int family = endpoint.address().is_v6() ? AF_INET6 : AF_INET;
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) co_return network_error(errno, "socket");
  const int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int result = ::connect(socket.get(), endpoint.data(), socklen_t(endpoint.size()));
  if (result != 0 && errno != EINPROGRESS) co_return network_error(errno, "connecting");
  auto stream = std::make_unique<SocketStream>(executor, std::move(socket), family);
  if (!stream->is_open()) co_return Error(Code::internal, "connecting: cannot poll");
  if (result != 0) {
    stream->set_write_deadline(deadline);
    CO_TRY_OK(co_await stream->wait_writable());
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(stream->native_handle(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0) co_return network_error(failed, "connecting");
    stream->set_write_deadline(std::nullopt);
  }
  co_return StreamPtr(std::move(stream));
}

}  // namespace

Task<StreamPtr> connect_tcp(asio::any_io_executor executor, std::string host, uint16_t port,
                            TimePoint deadline) {
  CO_TRY(auto endpoints, co_await resolve(executor, host, port, deadline));
  Error last(Code::not_found, "no address");
  for (size_t i = 0; i < endpoints.size(); ++i) {
    // A dead first address must leave time for the others.
    const auto left = deadline - Clock::now();
    const TimePoint until = Clock::now() + left / static_cast<int>(endpoints.size() - i);
    auto stream = co_await connect_to(executor, endpoints[i], until);
    if (stream) co_return std::move(*stream);
    last = std::move(stream).error();
  }
  co_return std::move(last).with(fmt::format("{}:{}", host, port));
}

Task<StreamPtr> connect_unix(asio::any_io_executor executor, std::string path, TimePoint deadline) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) co_return network_error(errno, "socket");
  auto pause = std::chrono::milliseconds(1);
  while (true) {
    CO_TRY(const auto target, address_of_socket(path));
    const auto* address = reinterpret_cast<const sockaddr*>(&target.address);
    if (::connect(socket.get(), address, sizeof target.address) == 0) break;
    // EAGAIN is a full queue; the kernel offers nothing to wait for.
    if (errno != EAGAIN) co_return network_error(errno, "connecting to " + path);
    if (Clock::now() + pause >= deadline) {
      co_return Error(Code::deadline_exceeded, "connecting to " + path + ": its queue is full");
    }
    asio::steady_timer timer(executor, pause);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
  }
  co_return adopt_socket(executor, std::move(socket));
}

}  // namespace atl::net
