#include "client/port_dial.h"

#include <fmt/core.h>

namespace atl::client {

Task<net::Released> dial_port(Connection& connection, std::string sandbox, uint16_t port) {
  auto request = connection.make_request(net::Method::get,
                                         sandbox_path(sandbox, fmt::format("/ports/{}", port)));
  request.headers.add("Upgrade", "tcp");
  request.headers.add("Connection", "Upgrade");
  request.timeouts.total.reset();
  CO_TRY(const auto call, co_await connection.begin(std::move(request)));
  CO_TRY_OK(co_await connection.expect_success(*call));
  if (call->head().status != 101) co_return Error(Code::unavailable, "the daemon does not connect");
  auto released = call->release_stream();
  if (!released.stream) co_return Error(Code::unavailable, "the daemon broke off");
  co_return released;
}

}  // namespace atl::client
