#include "api/visitor.h"

namespace atl::api {
namespace {

constexpr std::string_view kHowTo =
    "send `Authorization: Bearer KEY` with the key from admin.key in the state directory, or use "
    "the daemon's Unix socket";

Error refused(std::string message) {
  return Error(Code::unauthenticated, std::move(message))
      .with_hint(kHowTo)
      .at_stage("authenticate");
}

bool is_trusted(const net::Peer& peer, std::optional<uid_t> trusted_uid) {
  if (!peer.credentials || !trusted_uid) return false;
  return peer.credentials->uid == *trusted_uid || peer.credentials->uid == 0;
}

// nullopt when no key is shown at all.
Result<std::optional<std::string_view>> find_key(const net::Headers& headers) {
  constexpr std::string_view kScheme = "bearer ";
  if (const auto authorization = headers.find("Authorization")) {
    const std::string_view scheme = authorization->substr(0, kScheme.size());
    if (!net::equals_ignoring_case(scheme, kScheme)) {
      return refused("Authorization: only the scheme Bearer is known");
    }
    std::string_view key = authorization->substr(kScheme.size());
    while (key.starts_with(' ')) key.remove_prefix(1);
    return std::optional(key);
  }
  return headers.find("X-API-Key");
}

}  // namespace

Result<Visitor> find_visitor(const net::Request& request, Keys& keys,
                             std::optional<uid_t> trusted_uid) {
  Visitor visitor;
  if (is_trusted(request.peer, trusted_uid)) {
    visitor.seat = Seat::local;
    visitor.role = Role::admin;
  }
  TRY(const auto key, find_key(request.headers));
  if (!key) {
    if (visitor.seat == Seat::local) return visitor;
    return refused("no API key");
  }
  auto identity = keys.verify(*key);
  if (!identity) {
    return std::move(identity).error().with_hint(kHowTo).at_stage("authenticate");
  }
  visitor.caller = std::move(identity->caller);
  visitor.role = identity->role;
  return visitor;
}

Result<> check_access(const Visitor& visitor, Access access) {
  if (access != Access::admin || visitor.role == Role::admin) return {};
  return Error(Code::permission_denied, "this needs an administrator's key")
      .with_hint("use the key from admin.key in the state directory, or the daemon's Unix socket")
      .at_stage("authenticate");
}

}  // namespace atl::api
