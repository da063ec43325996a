// Where agent and relay find each other.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace atl::agent {

inline std::pair<sockaddr_un, socklen_t> relay_address() {
  constexpr std::string_view kName = "atoll-agent";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first byte is zero: the name is in no directory.
  std::memcpy(address.sun_path + 1, kName.data(), kName.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kName.size())};
}

}  // namespace atl::agent
