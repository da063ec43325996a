#include "container/engine_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/text.h"

namespace atl::container {
namespace {

bool is_loopback(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1)
    return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
  return host == "localhost" || host == "::1";
}

}  // namespace

EngineAddress engine_at_socket(std::string path) {
  EngineAddress address;
  address.endpoint.kind = net::Endpoint::Kind::unix_socket;
  address.endpoint.socket_path = path;
  address.endpoint.host = "localhost";
  address.text = std::move(path);
  return address;
}

Result<> check_certificates(const EngineAddress& address) {
  if (address.endpoint.kind != net::Endpoint::Kind::tls) return {};
  const auto& tls = address.tls;
  for (const auto* file : {&tls.ca_file, &tls.certificate_file, &tls.key_file}) {
    if (access(file->c_str(), R_OK) == 0) continue;
    return Error(Code::unavailable, "there is no " + *file + " for " + to_printable(address.text))
        .with_hint(
            "DOCKER_CERT_PATH names a directory with ca.pem, cert.pem and key.pem: the engine's "
            "authority, and what it has given to this client");
  }
  return {};
}

Result<EngineAddress> parse_engine_address(const Dialect& dialect, std::string host,
                                           const std::string& certificates) {
  if (host.starts_with("unix://")) host.erase(0, 7);
  if (host.starts_with('/')) return engine_at_socket(std::move(host));
  constexpr std::string_view kTcp = "tcp://";
  const auto refused = [&] {
    return Error(Code::invalid_argument,
                 std::string(dialect.variable) + " names no engine: " + to_printable(host))
        .with_hint("it is unix:///path/to/socket or tcp://HOST:PORT");
  };
  if (!host.starts_with(kTcp)) return refused();
  const bool is_encrypted = !certificates.empty();
  std::string url = (is_encrypted ? "https://" : "http://") + host.substr(kTcp.size());
  while (url.ends_with('/')) url.pop_back();
  auto endpoint = net::Endpoint::parse(url);
  if (!endpoint || !endpoint->base_path.empty()) return refused();
  if (!is_encrypted && !is_loopback(endpoint->host)) {
    return Error(Code::invalid_argument,
                 to_printable(host) + " is another machine, and without TLS")
        .with_hint(
            "whoever listens in on it would rule that machine: set DOCKER_TLS_VERIFY=1 and "
            "DOCKER_CERT_PATH, or forward its socket to this one: ssh -L");
  }
  EngineAddress address;
  address.endpoint = *std::move(endpoint);
  const bool names_port =
      url.find(':', url.rfind(']') == std::string::npos ? 8 : url.rfind(']')) != std::string::npos;
  if (!names_port) address.endpoint.port = is_encrypted ? 2376 : 2375;
  address.text = std::move(host);
  if (is_encrypted) {
    address.tls.ca_file = certificates + "/ca.pem";
    address.tls.certificate_file = certificates + "/cert.pem";
    address.tls.key_file = certificates + "/key.pem";
  }
  return address;
}

}  // namespace atl::container
