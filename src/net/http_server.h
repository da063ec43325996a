// HTTP/1.1 server: listeners, connections with limits on everything, and the Exchange that a
// handler works with.
//
// Everything runs on the executor's one thread. Malformed, oversized and slow requests never reach
// the handler: the server answers them itself with problem+json (400, 408 by silence, 413, 414,
// 417, 431, 501, 503, 505) and closes. Keep-alive and pipelining are on; requests of one connection
// are handled one after another.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "net/http_message.h"
#include "net/tls.h"

namespace atl::net {

struct ServerLimits {
  size_t header_bytes = 64 * 1024;  // request line and fields → 431
  size_t header_count = 128;        // → 431
  size_t target_bytes = 32 * 1024;  // → 414
  // What read_body() takes when the handler names no limit → 413.
  size_t body_bytes = 16 * 1024 * 1024;
  size_t connections = 4096;  // beyond: 503 and close
  // From the first byte of a request to the last of its head.
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds idle_timeout{75'000};  // between requests, and before the first
  // A body may make us wait this long in all, plus a second for every `body_bytes_per_second` that
  // came.
  std::chrono::milliseconds body_patience{30'000};
  size_t body_bytes_per_second = 1024;
  std::chrono::milliseconds write_timeout{30'000};  // for every 256 KiB of an answer
  // Of a body that the handler did not read; beyond, the connection closes.
  size_t discard_bytes = 256 * 1024;
  // How long a refused client may go on sending so that it sees the answer.
  std::chrono::milliseconds linger{2'000};
};

class ServerConnection;

// One request and its answer. The reference that a handler gets is good until handle() returns.
//
// Answer either by respond(), or by begin() / begin_sized(), write() as often as needed, end().
// Writing fails with Code::cancelled once the client is gone; a handler may then simply return.
class Exchange final {
 public:
  const Request& request() const;

  // The whole body. Code::too_large beyond the limit (before anything is read, if the client
  // declared the size), Code::invalid_argument for bad chunks, Code::cancelled if the client left
  // in the middle.
  Task<std::string> read_body(size_t limit);
  Task<std::string> read_body();  // up to ServerLimits::body_bytes
  // The next bytes of the body; 0 is its end. Unlimited: the caller counts.
  Task<size_t> read_body_some(void* data, size_t size);
  // The size that the client declared, if it did.
  std::optional<uint64_t> declared_body_size() const;
  // Lets the body be silent as long as it likes: for one that a person types.
  void wait_for_body_forever();

  // Sends the whole answer in one write. HEAD gets the same head and no body.
  Task<> respond(Response response);

  // Streams: chunked for HTTP/1.1, until close for 1.0. The head goes out at once.
  Task<> begin(int status, Headers headers);
  // Streams exactly `length` bytes; an answer that ends short closes the connection.
  Task<> begin_sized(int status, Headers headers, uint64_t length);
  Task<> write(std::string_view bytes);  // awaited at once
  // Both as one piece: `head` is copied beside the framing, `bytes` are not; one system call in
  // all.
  Task<> write(std::string_view head, std::string_view bytes);  // awaited at once
  Task<> end();

  // Whether a part of the answer may have left; from then on no other status is possible.
  bool started() const;
  bool finished() const;
  // The connection ends with this answer.
  void close_after();

  // Returns when the client is gone: its end of stream counts, so one that half-closes counts as
  // gone. Starts to look once the body has been read. Meant as `handler_work ||
  // exchange.wait_closed()`, or for a hook:
  Task<> wait_closed();
  // Calls `hook` once, from the loop, when the client is gone; replaced by the next, dropped when
  // handle() returns.
  void on_closed(std::function<void()> hook);

  // Leaves HTTP. upgrade() answers 101 with these fields first, release_stream() answers nothing.
  Task<Released> upgrade(Headers headers);
  Task<Released> release_stream();

 private:
  friend class ServerConnection;
  explicit Exchange(ServerConnection& connection) : connection_(&connection) {}

  ServerConnection* connection_;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // A handler that returns without an answer, or throws, gives 500.
  virtual asio::awaitable<void> handle(Exchange& exchange) = 0;
};

struct ServerStats {
  size_t connections = 0;  // open now
  uint64_t requests = 0;   // handed to the handler since the start
  uint64_t malformed = 0;  // answered by the server itself
  uint64_t refused = 0;    // connections beyond the limit
};

// Whether listen_tcp() would find the address free at this moment. Takes nothing.
Result<> check_tcp_address(const std::string& address, uint16_t port);

class HttpServer final {
 public:
  // `handler` must live until drain() returned without error, or until the executor runs no more.
  HttpServer(asio::any_io_executor executor, Handler& handler, ServerLimits limits = {});
  ~HttpServer();  // stops accepting and closes every connection
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // A literal address; port 0 lets the kernel choose. Gives the port. Accepting starts at once.
  Result<uint16_t> listen_tcp(std::string address, uint16_t port, TlsContextPtr tls = nullptr);
  // The socket appears under `path` (any length) complete: with its mode and already listening. A
  // socket that is there already is replaced only when nobody answers on it; otherwise, or if it is
  // another kind of file: Code::already_exists. Removed again by drain() and the destructor.
  Result<> listen_unix(std::string path, mode_t mode);
  // Takes over a listening socket (socket activation).
  Result<> listen_on(Fd socket, TlsContextPtr tls = nullptr);
  // Serves a stream that is already there.
  void serve(StreamPtr stream, Peer peer = {});

  // Stops accepting, closes idle connections, lets running exchanges finish and ends each
  // connection after its answer. At the deadline the rest are closed (their on_closed hooks run)
  // and it gives Code::deadline_exceeded.
  Task<> drain(TimePoint deadline);

  ServerStats stats() const;

  struct State;

 private:
  struct Listening;

  std::shared_ptr<State> state_;
  std::unique_ptr<Listening> listening_;
};

}  // namespace atl::net
