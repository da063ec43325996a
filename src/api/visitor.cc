#include "api/visitor.h"

#include <arpa/inet.h>

#include <array>

#include "base/ids.h"
#include "json/describe.h"

namespace atl::api {
namespace {

constexpr std::string_view kHowTo =
    "send `Authorization: Bearer KEY` with a key that an administrator made (atoll keys create), "
    "or use the daemon's Unix socket";

Error refused(std::string message) {
  return Error(Code::unauthenticated, std::move(message))
      .with_hint(kHowTo)
      .at_stage("authenticate");
}

std::string name_of_user(uid_t uid) { return "uid:" + std::to_string(uid); }

// nullopt for somebody who has to show a key.
std::optional<Visitor> find_by_socket(const net::Peer& peer, const VisitorRules& rules) {
  if (!peer.credentials) return std::nullopt;
  const uid_t uid = peer.credentials->uid;
  if (rules.trusted_uid && (uid == *rules.trusted_uid || uid == 0)) {
    return Visitor{{.subject = "socket", .role = Role::admin}, Seat::local};
  }
  if (rules.local_users == LocalUsers::nobody) return std::nullopt;
  return Visitor{{.tenant = name_of_user(uid), .subject = name_of_user(uid), .role = Role::member},
                 Seat::remote};
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

Result<Visitor> find_visitor(const net::Request& request, Keys& keys, const SandboxTokens& tokens,
                             const VisitorRules& rules) {
  const auto by_socket = find_by_socket(request.peer, rules);
  TRY(const auto key, find_key(request.headers));
  if (!key) {
    if (by_socket) return *by_socket;
    return refused("no API key");
  }
  const bool is_token = key->starts_with(kTokenPrefix);
  auto caller = is_token ? tokens.verify(*key) : keys.verify(*key);
  if (!caller) return std::move(caller).error().with_hint(kHowTo).at_stage("authenticate");
  Visitor visitor{*std::move(caller)};
  // A lesser key at the trusted socket is somebody else's, for whom the peer only passes it on.
  if (by_socket && visitor.caller.role == Role::admin) visitor.seat = by_socket->seat;
  return visitor;
}

Result<> check_action(const Visitor& visitor, Action action) {
  if (may(visitor.caller, action)) return {};
  const bool is_token = !visitor.caller.sandbox.empty();
  const std::string who = is_token ? "a sandbox's token"
                                   : "the role " + std::string(json::name_of(visitor.caller.role));
  return Error(Code::permission_denied, "this needs the right to " +
                                            std::string(json::name_of(action)) + ", which " + who +
                                            " does not have")
      .with_hint("ask an administrator for a key that may: atoll keys create --role ROLE")
      .at_stage("authorize");
}

std::string origin_of(const net::Peer& peer) {
  if (peer.credentials) return name_of_user(peer.credentials->uid);
  std::array<uint8_t, 16> bytes{};
  if (inet_pton(AF_INET6, peer.address.c_str(), bytes.data()) != 1) return peer.address;
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  const bool is_mapped = std::equal(kMapped.begin(), kMapped.end(), bytes.begin(),
                                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
  return to_hex(is_mapped ? std::span(bytes) : std::span(bytes).first(8));
}

}  // namespace atl::api
