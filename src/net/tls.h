// TLS 1.2 and 1.3 over any ByteStream, by OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "net/byte_stream.h"

namespace atl::net {

// `none` accepts any certificate: whoever is on the path can then read and change everything.
enum class TlsVerify { peer, none };

struct TlsClientOptions {
  TlsVerify verify = TlsVerify::peer;
  std::string ca_file;           // PEM; "" = the system's authorities
  std::string certificate_file;  // PEM, for servers that ask who we are; "" = none
  std::string key_file;
};

struct TlsServerOptions {
  std::string certificate_file;  // PEM, the chain with the leaf first
  std::string key_file;
};

// The loaded keys and authorities; loading reads files, so make one and share it.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
};
using TlsContextPtr = std::shared_ptr<TlsContext>;

Result<TlsContextPtr> make_tls_client(TlsClientOptions options);
Result<TlsContextPtr> make_tls_server(TlsServerOptions options);

// Shakes hands as a client. The certificate must name `server_name` (a host or a literal address).
// An untrusted certificate is Code::permission_denied.
Task<StreamPtr> tls_connect(asio::any_io_executor executor, StreamPtr lower, TlsContextPtr context,
                            std::string server_name, TimePoint deadline);

// The server's side. The handshake happens with the first read, under its deadline.
Result<StreamPtr> tls_accept(const asio::any_io_executor& executor, StreamPtr lower,
                             TlsContextPtr context);

}  // namespace atl::net
