#include "app/listen_address.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <charconv>

#include "base/text.h"
#include "cli/args.h"

namespace atl::app {
namespace {

bool is_literal(const std::string& address) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, address.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, address.c_str(), bytes) == 1;
}

}  // namespace

bool ListenAddress::is_loopback() const { return address == "::1" || address.starts_with("127."); }

Result<ListenAddress> parse_listen(std::string_view text) {
  if (text == "none") return ListenAddress{};
  const auto bad = [&](std::string_view why) {
    return cli::usage_error(fmt::format("--listen: '{}' {}", to_printable(text), why))
        .with_hint("write 127.0.0.1:7070, [::1]:7070, or none for the Unix socket only");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("has no port");
  ListenAddress listen;
  const std::string_view port = text.substr(colon + 1);
  const auto [end, trouble] = std::from_chars(port.data(), port.data() + port.size(), listen.port);
  if (trouble != std::errc() || end != port.data() + port.size()) return bad("has no valid port");

  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  listen.address = host == "localhost" ? "127.0.0.1" : std::string(host);
  if (!is_literal(listen.address)) return bad("does not begin with an address");
  return listen;
}

std::string url_of(const ListenAddress& listen) {
  const bool is_v6 = listen.address.find(':') != std::string::npos;
  return is_v6 ? fmt::format("http://[{}]:{}", listen.address, listen.port)
               : fmt::format("http://{}:{}", listen.address, listen.port);
}

}  // namespace atl::app
