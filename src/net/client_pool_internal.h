// ClientState: the client's connections, in use and kept. Only src/net includes this.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "net/http_client.h"
#include "net/message_reader.h"

namespace atl::net {

class ClientConnection final {
 public:
  ClientConnection(std::weak_ptr<ClientState> owner, std::string key);
  ~ClientConnection();

  void attach(StreamPtr opened);

  const std::string key;
  StreamPtr stream;
  std::unique_ptr<MessageReader> reader;
  bool reused = false;
  TimePoint idle_since;

 private:
  friend class ClientState;
  void leave_use();

  std::weak_ptr<ClientState> owner_;
  bool counted_ = false;  // in the owner's number of those in use
};
using ClientConnectionPtr = std::unique_ptr<ClientConnection>;

enum class Reuse : uint8_t { allowed, never };

class ClientState final : public std::enable_shared_from_this<ClientState> {
 public:
  ClientState(asio::any_io_executor executor, ClientLimits limits);

  Task<ClientConnectionPtr> acquire(Endpoint endpoint, Reuse reuse, TimePoint deadline);
  // Keeps a connection that is done with its exchange, or never had one.
  void keep(ClientConnectionPtr connection);
  void close_idle();
  // From now on nothing is kept.
  void retire();
  size_t idle_connections() const;
  const ClientLimits& limits() const { return limits_; }

 private:
  friend class ClientConnection;
  ClientConnectionPtr take_idle(const std::string& key);
  Result<TlsContextPtr> tls();
  void plan_sweep();
  void sweep();

  asio::any_io_executor executor_;
  ClientLimits limits_;
  TlsContextPtr tls_;
  std::map<std::string, std::deque<ClientConnectionPtr>> idle_;  // the freshest at the back
  std::map<std::string, size_t> in_use_;
  asio::steady_timer timer_;
  bool sweep_planned_ = false;
  bool retired_ = false;
};

}  // namespace atl::net
