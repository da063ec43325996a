// Visitor: who makes a request, and what that allows.
#pragma once

#include <optional>

#include "core/keys.h"
#include "net/http_message.h"

namespace atl::api {

// What a route asks of whoever calls it.
enum class Access : uint8_t {
  open,   // anybody
  key,    // any valid key, or the trusted socket
  admin,  // an administrator's key, or the trusted socket
};

// Local: at the daemon's own Unix socket with the daemon's uid or root's, so that opening a
// directory of the host on the caller's behalf gives nothing that the caller could not open alone.
enum class Seat : uint8_t { remote, local };

struct Visitor {
  Caller caller;
  Role role = Role::user;
  Seat seat = Seat::remote;
};

// A key that is shown decides, even at the trusted socket. Code::unauthenticated without a valid
// one.
Result<Visitor> find_visitor(const net::Request& request, Keys& keys,
                             std::optional<uid_t> trusted_uid);

Result<> check_access(const Visitor& visitor, Access access);

}  // namespace atl::api
