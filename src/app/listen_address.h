// What `--listen` takes: "HOST:PORT" with a literal address or localhost, "[::1]:PORT", or "none".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::app {

struct ListenAddress {
  std::string address;  // "" = none
  uint16_t port = 0;

  bool is_loopback() const;
};

Result<ListenAddress> parse_listen(std::string_view text);

// "http://127.0.0.1:7070", "http://[::1]:7070".
std::string url_of(const ListenAddress& listen);

}  // namespace atl::app
