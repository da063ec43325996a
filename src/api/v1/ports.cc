// GET /v1/sandboxes/{id}/ports/{port} with `Upgrade: tcp`: the connection becomes one to a port of
// the sandbox, byte for byte.
#include <charconv>

#include <boost/asio/this_coro.hpp>

#include "api/v1/handlers.h"
#include "net/event.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kPiece = 64 * 1024;
constexpr auto kWritePatience = std::chrono::minutes(5);

Result<uint16_t> port_of(const Call& call) {
  const std::string& text = call.request().segments[4];
  uint16_t port = 0;
  const auto end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, port);
  if (failure == std::errc() && stop == end && port > 0) return port;
  return Error(Code::invalid_argument, "port: it is a number from 1 to 65535").at_stage("request");
}

struct Joint {
  Joint(const asio::any_io_executor& executor, net::Released from, GuestLease in,
        std::unique_ptr<Tunnel> to)
      : client(std::move(from.stream)),
        first(std::move(from.already_read)),
        lease(std::move(in)),
        tunnel(std::move(to)),
        upstream_over(executor) {}

  net::StreamPtr client;
  std::string first;
  GuestLease lease;
  std::unique_ptr<Tunnel> tunnel;
  net::Event upstream_over;
};

Task<> carry_in(std::shared_ptr<Joint> joint) {
  std::string bytes = std::move(joint->first);
  for (;;) {
    if (!bytes.empty()) {
      CO_TRY_OK(co_await joint->tunnel->write(std::move(bytes)));
    }
    bytes.assign(kPiece, '\0');
    CO_TRY(const size_t got, co_await joint->client->read_some(bytes.data(), bytes.size()));
    if (got == 0) co_return co_await joint->tunnel->finish();
    bytes.resize(got);
  }
}

Task<> carry_out(std::shared_ptr<Joint> joint) {
  for (;;) {
    CO_TRY(const std::string bytes, co_await joint->tunnel->read());
    if (bytes.empty()) co_return co_await joint->client->shutdown_write();
    joint->client->set_write_deadline(std::chrono::steady_clock::now() + kWritePatience);
    CO_TRY_OK(co_await joint->client->write_all(bytes));
  }
}

}  // namespace

Task<> dial_port(Call& call) {
  CO_TRY(const uint16_t port, port_of(call));
  if (!net::equals_ignoring_case(call.request().headers.get("Upgrade"), "tcp")) {
    co_return Error(Code::invalid_argument, "Upgrade: a port is reached with `Upgrade: tcp`")
        .with_hint("from a terminal: atoll port BOX " + std::to_string(port))
        .at_stage("request");
  }
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(auto tunnel, co_await lease->dial(port));
  CO_TRY(auto released, co_await call.upgrade("tcp"));
  released.stream->set_deadline(std::nullopt);
  const auto executor = co_await asio::this_coro::executor;
  const auto joint =
      std::make_shared<Joint>(executor, std::move(released), std::move(lease), std::move(tunnel));
  spawn(executor, carry_in(joint), [joint](Result<> done) {
    // A client that broke off wants nothing more; one that only has no more to say does.
    if (!done) joint->tunnel->interrupt();
    joint->upstream_over.set();
  });
  auto carried = co_await carry_out(joint);
  if (!carried) joint->client->close();
  co_await joint->upstream_over.wait();
  joint->client->close();
  co_return Result<>();
}

}  // namespace atl::api::v1
