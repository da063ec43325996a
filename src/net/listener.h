// Listener: one listening socket that hands accepted connections on.
#pragma once

#include <functional>
#include <memory>

#include "net/byte_stream.h"
#include "net/http_message.h"

namespace atl::net {

class Listener final {
 public:
  using OnAccept = std::function<void(StreamPtr stream, Peer peer)>;

  // Accepts at once. `on_accept` is dropped by close().
  static Result<std::unique_ptr<Listener>> create(const asio::any_io_executor& executor, Fd socket,
                                                  OnAccept on_accept);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void close();
  uint16_t port() const;  // 0 for a Unix socket

 private:
  struct Core;
  explicit Listener(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  static Task<> accept_loop(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

// A TCP socket bound to a literal address; the second one listens, too.
Result<Fd> bind_tcp(const std::string& address, uint16_t port);
Result<Fd> listen_at_tcp(const std::string& address, uint16_t port);

}  // namespace atl::net
