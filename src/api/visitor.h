// Visitor: who makes a request, found out from the key or token that is shown, or from the peer of
// the Unix socket.
#pragma once

#include <optional>

#include "core/keys.h"
#include "core/sandbox_tokens.h"
#include "net/http_message.h"

namespace atl::api {

// Local: an admin at the daemon's own Unix socket with the daemon's uid or root's, so that opening
// a directory of the host on the caller's behalf gives nothing that the caller could not open
// alone.
enum class Seat : uint8_t { remote, local };

struct Visitor {
  Caller caller;
  Seat seat = Seat::remote;
};

// What the peer of a Unix socket is without a key.
enum class LocalUsers : uint8_t {
  nobody,   // but for the daemon's own user and root, who are administrators
  members,  // besides these, everybody is a member of a tenant of their own: uid:1000
};

struct VisitorRules {
  // Whose connections over a Unix socket are an administrator's, besides root's; nullopt trusts
  // nobody.
  std::optional<uid_t> trusted_uid;
  LocalUsers local_users = LocalUsers::nobody;
};

// A key that is shown decides, even at the trusted socket. Code::unauthenticated without a valid
// one.
Result<Visitor> find_visitor(const net::Request& request, Keys& keys, const SandboxTokens& tokens,
                             const VisitorRules& rules);

// Code::permission_denied, naming the roles' limits, unless the visitor's role may.
Result<> check_action(const Visitor& visitor, Action action);

// Where somebody comes from, as coarsely as an address costs: of IPv6 the first 64 bits, of a Unix
// socket the user.
std::string origin_of(const net::Peer& peer);

}  // namespace atl::api
