#include <fmt/core.h>

#include "net/http_client.h"

namespace atl::net {

Result<Endpoint> Endpoint::parse(std::string_view url) {
  const auto bad = [url](std::string_view why) {
    return Error(Code::invalid_argument, fmt::format("{}: {}", url, why))
        .with_hint("write http://host:port, https://host or unix:/path/to.sock");
  };
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
      return bad("a space or control character");
  }
  Endpoint endpoint;
  if (url.starts_with("unix:")) {
    std::string_view path = url.substr(5);
    if (path.starts_with("//")) path.remove_prefix(2);
    if (!path.starts_with('/')) return bad("the socket's path must be absolute");
    endpoint.kind = Kind::unix_socket;
    endpoint.socket_path = path;
    endpoint.host = "localhost";
    return endpoint;
  }
  std::string_view rest;
  if (url.starts_with("http://")) {
    rest = url.substr(7);
  } else if (url.starts_with("https://")) {
    rest = url.substr(8);
    endpoint.kind = Kind::tls;
    endpoint.port = 443;
  } else {
    return bad("no known scheme");
  }
  const size_t slash = rest.find_first_of("/?#");
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) endpoint.base_path = rest.substr(slash);
  while (endpoint.base_path.ends_with('/')) endpoint.base_path.pop_back();
  if (endpoint.base_path.find_first_of("?#") != std::string::npos) return bad("a query");
  if (authority.find('@') != std::string_view::npos) return bad("a user name belongs in a header");

  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return bad("an unfinished address");
    endpoint.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && port.front() != ':') return bad("something after the address");
  } else {
    const size_t colon = authority.find(':');
    endpoint.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (endpoint.host.empty()) return bad("no host");
  if (!port.empty()) {
    port.remove_prefix(1);
    uint32_t number = 0;
    for (const char c : port) {
      if (c < '0' || c > '9' || number > 65535) return bad("no port number");
      number = number * 10 + static_cast<uint32_t>(c - '0');
    }
    if (number == 0 || number > 65535) return bad("no port number");
    endpoint.port = static_cast<uint16_t>(number);
  }
  return endpoint;
}

std::string Endpoint::key() const {
  switch (kind) {
    case Kind::unix_socket:
      return "unix:" + socket_path;
    case Kind::tls:
      return fmt::format("https://{}:{}", host, port);
    case Kind::tcp:
      break;
  }
  return fmt::format("http://{}:{}", host, port);
}

std::string Endpoint::host_header() const {
  if (kind == Kind::unix_socket) return "localhost";
  const bool bracketed = host.find(':') != std::string::npos;
  std::string name = bracketed ? fmt::format("[{}]", host) : host;
  if (port == (kind == Kind::tls ? 443 : 80)) return name;
  return fmt::format("{}:{}", name, port);
}

}  // namespace atl::net
