// The relay: a second process of this program in the agent's container, through which somebody
// speaks to the agent who can do no more there than start a program (container/agent_relay.h). It
// carries bytes between its stdio and the agent, understands none of them, and ends with either.
#pragma once

namespace atl::agent {

// Returns the exit code; what went wrong before the agent was reached is on stderr.
int run_relay();

}  // namespace atl::agent
