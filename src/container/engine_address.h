// EngineAddress: where an engine listens, in the words of DOCKER_HOST and its kin.
#pragma once

#include <string>

#include "base/result.h"
#include "container/dialect.h"
#include "net/http_client.h"

namespace atl::container {

struct EngineAddress {
  net::Endpoint endpoint;
  net::TlsClientOptions tls;
  std::string text;  // for people
  // On this host: it is given paths of ours.
  bool is_local() const { return endpoint.kind == net::Endpoint::Kind::unix_socket; }
};

// "unix:///path", "/path" or "tcp://host:port". `certificates` is a directory with ca.pem, cert.pem
// and key.pem, "" = no TLS, which only does for a loopback address. Code::invalid_argument for
// anything else.
Result<EngineAddress> parse_engine_address(const Dialect& dialect, std::string host,
                                           const std::string& certificates);

// Whether the files of TLS are there to be read. Code::unavailable, with the one that is not.
Result<> check_certificates(const EngineAddress& address);

EngineAddress engine_at_socket(std::string path);

}  // namespace atl::container
