// HTTP/1.1 client over TCP, TLS and Unix sockets, with kept-alive connections per endpoint.
//
// Everything runs on the executor's one thread. Redirects are not followed. Errors:
// Code::unavailable when the server cannot be reached or breaks off, Code::deadline_exceeded,
// Code::too_large for an answer over its limit, Code::internal for an answer that is no HTTP. A
// status of 400 or more is an answer, not an error.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "net/http_message.h"
#include "net/tls.h"

namespace atl::net {

// Where a server is: "http://host:port", "https://host", "unix:/run/x.sock" (absolute, of any
// length).
struct Endpoint {
  enum class Kind : uint8_t { tcp, tls, unix_socket };

  Kind kind = Kind::tcp;
  std::string host;  // also what TLS verifies
  uint16_t port = 80;
  std::string socket_path;
  std::string
      base_path;  // what stood after the host, without a last slash; prefixed to every target

  static Result<Endpoint> parse(std::string_view url);
  // Equal keys share connections.
  std::string key() const;
  std::string host_header() const;
};

struct ClientLimits {
  size_t header_bytes = 64 * 1024;
  size_t header_count = 256;
  size_t idle_per_endpoint = 16;          // kept connections; the oldest goes
  size_t connections_per_endpoint = 256;  // in use at once; beyond: Code::resource_exhausted
  std::chrono::milliseconds idle_timeout{30'000};
  TlsClientOptions tls;
};

struct Timeouts {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds first_byte{
      60'000};  // from the request's last byte to the head of the answer
  // Everything, the body of the answer included. nullopt: as long as bytes come at least every
  // `silence`.
  std::optional<std::chrono::milliseconds> total{120'000};
  std::optional<std::chrono::milliseconds>
      silence;  // nullopt: a stream may be silent for ever (or until total)
};

struct ClientRequest {
  Method method = Method::get;
  std::string target = "/";  // path and query, already percent-encoded
  Headers headers;           // Host, Content-Length and Transfer-Encoding are the client's
  std::string body;          // whole; for open() leave it empty and choose below
  Timeouts timeouts;
  size_t response_limit = 64 * 1024 * 1024;  // of the body that send() collects
};

// How a streamed request body is framed: none (the default), chunked, or exactly that many bytes.
struct RequestBody {
  enum class Kind : uint8_t { none, chunked, sized };
  Kind kind = Kind::none;
  uint64_t size = 0;
};

struct ResponseHead {
  int status = 0;
  Headers headers;
};

class ClientState;
class ClientConnection;

// One request under way, for bodies that stream. Destroying it gives the connection back to the
// pool if the exchange was complete, and closes it otherwise.
class ClientCall final {
 public:
  ~ClientCall();
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;

  // The request's body, when it streams.
  Task<> write(std::string_view bytes);  // awaited at once
  Task<> finish();

  // Waits for the head of the answer (interim 1xx answers are passed over, 101 is not). Once; then
  // use head().
  Task<> receive();
  const ResponseHead& head() const;

  // The next bytes of the answer's body as they arrive; 0 is its end.
  Task<size_t> read_some(void* data, size_t size);
  Task<std::string> read_all(size_t limit);

  // Leaves HTTP (after 101, or 200 for Docker's attach): the stream without deadlines, and what
  // came after the head. Empty if there is no connection any more.
  Released release_stream();
  // Ends it from another coroutine: pending operations return Code::cancelled.
  void cancel();

 private:
  friend class HttpClient;
  struct Parts;
  explicit ClientCall(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

class HttpClient final {
 public:
  explicit HttpClient(asio::any_io_executor executor, ClientLimits limits = {});
  ~HttpClient();  // closes idle connections; calls under way may still finish
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // One whole exchange. A kept connection that is seen dead before use is not used; one that dies
  // under the request is replaced once by a fresh one, if the method is idempotent.
  Task<Response> send(Endpoint endpoint, ClientRequest request);

  // Sends the head (and request.body, if `body` is none) and gives the call to go on with.
  Task<std::unique_ptr<ClientCall>> open(Endpoint endpoint, ClientRequest request,
                                         RequestBody body = {});

  // Puts a connected stream among the kept connections of `endpoint`: for streams that no address
  // leads to.
  void adopt(const Endpoint& endpoint, StreamPtr stream);
  void close_idle();
  size_t idle_connections() const;

 private:
  static Task<std::unique_ptr<ClientCall>> open_with(std::shared_ptr<ClientState> state,
                                                     Endpoint endpoint, ClientRequest request,
                                                     RequestBody body);

  std::shared_ptr<ClientState> state_;
};

}  // namespace atl::net
