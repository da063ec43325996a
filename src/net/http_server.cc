#include "net/http_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

#include "net/listener.h"
#include "net/server_connection.h"
#include "net/unix_path.h"

namespace atl::net {
namespace {

using Clock = std::chrono::steady_clock;

// More than this many at once are refused without a word.
constexpr size_t kMaxRefusals = 64;

Task<> run_connection(std::shared_ptr<ServerConnection> connection) {
  co_return co_await connection->run();
}

// Tells one client too many that it is, so that it knows to come back.
Task<> turn_away(std::shared_ptr<HttpServer::State> state, StreamPtr stream) {
  const Response problem = make_problem(
      503, Error(Code::resource_exhausted, "too many connections").at_stage("connect"));
  const std::string head = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
      "Retry-After: 1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
      problem.body.size());
  stream->set_deadline(Clock::now() +
                       std::min(state->limits.linger, std::chrono::milliseconds(1'000)));
  const Pieces pieces{head, problem.body, {}};
  CO_TRY_OK(co_await stream->write_pieces(pieces));
  CO_TRY_OK(co_await stream->shutdown_write());
  char scratch[4096];
  while (true) {
    CO_TRY(const size_t got, co_await stream->read_some(scratch, sizeof scratch));
    if (got == 0) break;
  }
  co_return Result<>();
}

}  // namespace

// The parts that only the server itself knows, beside what its connections share.
struct HttpServer::Listening {
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<UnixListener> files;

  void stop() {
    for (auto& file : files) file.remove();
    listeners.clear();
    files.clear();
  }
};

void HttpServer::State::serve(StreamPtr stream, Peer peer) {
  if (draining) return;
  if (connections.size() >= limits.connections) {
    ++stats.refused;
    if (refusals >= kMaxRefusals || peer.tls) return;
    ++refusals;
    spawn(executor, turn_away(shared_from_this(), std::move(stream)),
          [self = shared_from_this()](Result<>) { --self->refusals; });
    return;
  }
  empty.reset();
  auto connection =
      std::make_shared<ServerConnection>(shared_from_this(), std::move(stream), std::move(peer));
  spawn(executor, run_connection(std::move(connection)));
}

std::string_view HttpServer::State::date() {
  const time_t now = std::time(nullptr);
  if (now != date_second) {
    date_second = now;
    tm parts{};
    ::gmtime_r(&now, &parts);
    static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed",
                                                      "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    date_text = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                            kDays[static_cast<size_t>(parts.tm_wday)], parts.tm_mday,
                            kMonths[static_cast<size_t>(parts.tm_mon)], parts.tm_year + 1900,
                            parts.tm_hour, parts.tm_min, parts.tm_sec);
  }
  return date_text;
}

Result<> check_tcp_address(const std::string& address, uint16_t port) {
  TRY_OK(bind_tcp(address, port));
  return {};
}

HttpServer::HttpServer(asio::any_io_executor executor, Handler& handler, ServerLimits limits)
    : state_(std::make_shared<State>(std::move(executor), handler, limits)),
      listening_(std::make_unique<Listening>()) {}

HttpServer::~HttpServer() {
  listening_->stop();
  state_->draining = true;
  const std::vector<ServerConnection*> all(state_->connections.begin(), state_->connections.end());
  for (ServerConnection* connection : all) connection->close();
}

Result<> HttpServer::listen_on(Fd socket, TlsContextPtr tls) {
  auto accepted = [state = state_, tls](StreamPtr stream, Peer peer) {
    if (tls) {
      auto wrapped = tls_accept(state->executor, std::move(stream), tls);
      if (!wrapped) return;
      stream = std::move(*wrapped);
      peer.tls = true;
    }
    state->serve(std::move(stream), std::move(peer));
  };
  TRY(auto listener, Listener::create(state_->executor, std::move(socket), std::move(accepted)));
  listening_->listeners.push_back(std::move(listener));
  return {};
}

Result<uint16_t> HttpServer::listen_tcp(std::string address, uint16_t port, TlsContextPtr tls) {
  TRY(auto socket, listen_at_tcp(address, port));
  TRY_OK(listen_on(std::move(socket), std::move(tls)));
  return listening_->listeners.back()->port();
}

Result<> HttpServer::listen_unix(std::string path, mode_t mode) {
  TRY(auto file, listen_at(path, mode));
  TRY_OK(listen_on(std::move(file.socket), nullptr));
  listening_->files.push_back(std::move(file));
  return {};
}

void HttpServer::serve(StreamPtr stream, Peer peer) {
  if (!peer.credentials) peer.credentials = stream->peer_credentials();
  state_->serve(std::move(stream), std::move(peer));
}

Task<> HttpServer::drain(TimePoint deadline) {
  auto state = state_;
  listening_->stop();
  state->draining = true;
  for (ServerConnection* connection : state->connections) connection->close_if_idle();
  if (state->connections.empty()) co_return Result<>();
  const bool finished = co_await state->empty.wait_until(deadline);
  if (finished) co_return Result<>();
  const std::vector<ServerConnection*> rest(state->connections.begin(), state->connections.end());
  for (ServerConnection* connection : rest) connection->close();
  co_return Error(Code::deadline_exceeded,
                  fmt::format("{} connections were still busy and have been closed", rest.size()));
}

ServerStats HttpServer::stats() const {
  ServerStats stats = state_->stats;
  stats.connections = state_->connections.size();
  return stats;
}

const Request& Exchange::request() const { return connection_->request(); }
Task<std::string> Exchange::read_body(size_t limit) { return connection_->read_body(limit); }
Task<std::string> Exchange::read_body() {
  return connection_->read_body(connection_->limits().body_bytes);
}
Task<size_t> Exchange::read_body_some(void* data, size_t size) {
  return connection_->read_body_some(data, size);
}
std::optional<uint64_t> Exchange::declared_body_size() const {
  return connection_->declared_body_size();
}
void Exchange::wait_for_body_forever() { connection_->wait_for_body_forever(); }
Task<> Exchange::respond(Response response) { return connection_->respond(std::move(response)); }
Task<> Exchange::begin(int status, Headers headers) {
  return connection_->begin(status, std::move(headers), std::nullopt);
}
Task<> Exchange::begin_sized(int status, Headers headers, uint64_t length) {
  return connection_->begin(status, std::move(headers), length);
}
Task<> Exchange::write(std::string_view bytes) { return connection_->write({}, bytes); }
Task<> Exchange::write(std::string_view head, std::string_view bytes) {
  return connection_->write(head, bytes);
}
Task<> Exchange::end() { return connection_->end(); }
bool Exchange::started() const { return connection_->started(); }
bool Exchange::finished() const { return connection_->finished(); }
void Exchange::close_after() { connection_->close_after(); }
Task<> Exchange::wait_closed() { return connection_->wait_closed(); }
void Exchange::on_closed(std::function<void()> hook) { connection_->on_closed(std::move(hook)); }
Task<Released> Exchange::upgrade(Headers headers) {
  return connection_->upgrade(std::move(headers));
}
Task<Released> Exchange::release_stream() { return connection_->release_stream(); }

}  // namespace atl::net
