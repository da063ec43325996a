// A connection to a port on a sandbox's own loopback.
#pragma once

#include <cstdint>
#include <string>

#include "client/connection.h"

namespace atl::client {

// The stream has no deadlines. Code::unavailable when nothing listens there.
Task<net::Released> dial_port(Connection& connection, std::string sandbox, uint16_t port);

}  // namespace atl::client
