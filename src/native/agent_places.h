// Where the agent finds what the launcher gives it, and how it says that it has ended well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::native {

// Descriptors that the launcher puts in place before it executes the agent.
constexpr int kAgentConnection = 3;  // the first connection, to whoever asked for the sandbox
constexpr int kAgentListener = 4;    // further connections; each begins with the token
constexpr int kAgentConfig = 5;      // AgentConfig, encoded
constexpr int kAgentToken = 6;       // kTokenBytes and then BoxFacts in a pipe
constexpr int kAgentWorkspace = 7;
constexpr int kAgentTemporary = 8;
constexpr int kAgentFirstMount = 9;

constexpr size_t kTokenBytes = 32;
constexpr size_t kMostMounts = 16;

// The first byte of an agent that calls by itself (agent/caller.h): whether it has its
// configuration.
constexpr char kCallNew = 'n';
constexpr char kCallAgain = 'a';

// Words that a container engine starts the agent's program with: to be reached through a relay
// (agent/answerer.h), as that relay, and to tell which kernel it is in (agent/kernel_view.h).
constexpr const char* kAnswerWord = "answer";
constexpr const char* kRelayWord = "relay";
constexpr const char* kKernelWord = "kernel";

// What an agent says first to whoever comes through a relay: kCallNew or kCallAgain, and its
// Clock::boot() in microseconds. To be heard, who comes again answers with the token.
constexpr size_t kGreetingBytes = 1 + sizeof(int64_t);

// Why the agent ended, as its exit code: anything else means that processes of its may be left.
constexpr int kAgentLeftNothing = 0;
constexpr int kAgentExpired = 3;  // its time was up, where no launcher looks after that

}  // namespace atl::native
