#include <fmt/core.h>

#include <utility>

#include "net/client_pool_internal.h"
#include "net/connect.h"

namespace atl::net {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

ClientConnection::ClientConnection(std::weak_ptr<ClientState> owner, std::string its_key)
    : key(std::move(its_key)), owner_(std::move(owner)) {}

ClientConnection::~ClientConnection() {
  if (stream) stream->close();
  leave_use();
}

void ClientConnection::leave_use() {
  const auto owner = owner_.lock();
  if (!std::exchange(counted_, false) || !owner) return;
  const auto found = owner->in_use_.find(key);
  if (--found->second == 0) owner->in_use_.erase(found);
}

void ClientConnection::attach(StreamPtr opened) {
  stream = std::move(opened);
  reader = std::make_unique<MessageReader>(*stream);
}

ClientState::ClientState(asio::any_io_executor executor, ClientLimits limits)
    : executor_(std::move(executor)), limits_(std::move(limits)), timer_(executor_) {}

Result<TlsContextPtr> ClientState::tls() {
  if (!tls_) {
    TRY(tls_, make_tls_client(limits_.tls));
  }
  return tls_;
}

ClientConnectionPtr ClientState::take_idle(const std::string& key) {
  const auto found = idle_.find(key);
  if (found == idle_.end()) return nullptr;
  auto& kept = found->second;
  ClientConnectionPtr chosen;
  while (!kept.empty() && !chosen) {
    chosen = std::move(kept.back());
    kept.pop_back();
    const bool stale = Clock::now() - chosen->idle_since > limits_.idle_timeout;
    if (stale || !chosen->stream->is_quiet()) chosen.reset();
  }
  if (kept.empty()) idle_.erase(found);
  return chosen;
}

Task<ClientConnectionPtr> ClientState::acquire(Endpoint endpoint, Reuse reuse, TimePoint deadline) {
  const auto self = shared_from_this();
  const std::string key = endpoint.key();
  ClientConnectionPtr connection;
  if (reuse == Reuse::allowed) connection = take_idle(key);
  const bool fresh = connection == nullptr;
  if (fresh) connection = std::make_unique<ClientConnection>(weak_from_this(), key);
  const auto used = in_use_.find(key);
  if (used != in_use_.end() && used->second >= limits_.connections_per_endpoint) {
    co_return Error(Code::resource_exhausted,
                    fmt::format("{} connections to {} are in use", used->second, key));
  }
  ++in_use_[key];
  connection->counted_ = true;
  connection->reused = !fresh;
  if (!fresh) co_return connection;

  StreamPtr stream;
  if (endpoint.kind == Endpoint::Kind::unix_socket) {
    CO_TRY(stream, co_await connect_unix(executor_, endpoint.socket_path, deadline));
  } else {
    CO_TRY(stream, co_await connect_tcp(executor_, endpoint.host, endpoint.port, deadline));
  }
  if (endpoint.kind == Endpoint::Kind::tls) {
    CO_TRY(auto context, tls());
    CO_TRY(stream, co_await tls_connect(executor_, std::move(stream), std::move(context),
                                        endpoint.host, deadline));
  }
  connection->attach(std::move(stream));
  co_return connection;
}

void ClientState::keep(ClientConnectionPtr connection) {
  if (retired_ || limits_.idle_per_endpoint == 0) return;
  connection->stream->set_deadline(std::nullopt);
  connection->idle_since = Clock::now();
  connection->leave_use();
  auto& kept = idle_[connection->key];
  if (kept.size() >= limits_.idle_per_endpoint) kept.pop_front();
  kept.push_back(std::move(connection));
  plan_sweep();
}

void ClientState::plan_sweep() {
  if (sweep_planned_ || idle_.empty()) return;
  sweep_planned_ = true;
  timer_.expires_after(limits_.idle_timeout);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    const auto self = weak.lock();
    if (!self) return;
    self->sweep_planned_ = false;
    if (!failed) self->sweep();
  });
}

void ClientState::sweep() {
  const TimePoint now = Clock::now();
  for (auto& [key, kept] : idle_) {
    while (!kept.empty() && now - kept.front()->idle_since >= limits_.idle_timeout) {
      kept.pop_front();
    }
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
  plan_sweep();
}

void ClientState::close_idle() {
  idle_.clear();
  timer_.cancel();
}

void ClientState::retire() {
  retired_ = true;
  close_idle();
}

size_t ClientState::idle_connections() const {
  size_t count = 0;
  for (const auto& [key, kept] : idle_) count += kept.size();
  return count;
}

}  // namespace atl::net
