// The gate: how an agent behind a second kernel gets what the launcher gives others by number.
//
// runsc hands a sandbox nothing but its stdio, so the agent's stdin is a packet socket. On it
// atoll-oci sends descriptors, which the second kernel takes in as files of its own: first, in one
// packet, those below; afterwards each connection that somebody makes to the sandbox's socket, one
// a packet. The agent answers the first packet with one of its own when it is there. When the gate
// closes, nobody watches over the agent any more, and it ends.
//
// Before all of the sandbox is kept (native/keeper_call.h) the agent is told to rest: it closes its
// connections, forgets its token, answers with the same word and waits for a first packet, which
// comes through whatever gate it wakes up at. That may be another sandbox's. Where it is the same
// one, nobody waits for the agent, and the packet has no connection.
#pragma once

#include <cstddef>

namespace atl::native {

// The path of the agent in the sandbox, and its only argument.
constexpr const char* kGatedAgent = "/opt/atoll/bin/atoll-agent";
constexpr const char* kGateArgument = "--gate";

// In the first packet: the configuration, the token with the facts, the connection.
constexpr size_t kGateDescriptors = 3;
constexpr const char* kGateWord = "g";  // the content of packets that bring something
constexpr const char* kRestWord = "r";

}  // namespace atl::native
