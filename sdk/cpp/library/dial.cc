// The call that connects to a port of a sandbox.
#include <sys/socket.h>

#include "client/port_dial.h"
#include "library/plan.h"
#include "net/relay.h"

namespace atoll_client::calls {
namespace {

using atl::Task;

Task<Socket> dial_it(Caller& caller, std::string id, std::uint16_t port) {
  CO_TRY(auto released, co_await atl::client::dial_port(caller.connection, std::move(id), port));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    co_return atl::os_error("making a socket");
  Socket theirs(ends[0]);
  const auto& executor = caller.connection.executor();
  CO_TRY(auto ours, atl::net::adopt_socket(executor, atl::Fd(ends[1])));
  // It ends when either side does, or with the loop.
  atl::spawn(executor, atl::net::relay(std::move(ours), std::move(released.stream),
                                       std::move(released.already_read)));
  co_return theirs;
}

}  // namespace

Call<Socket> dial(std::string id, std::uint16_t port) {
  return make_call<Socket>([=](Caller& caller) { return dial_it(caller, id, port); },
                           Afterwards::relay);
}

}  // namespace atoll_client::calls
