// AgentRelay: the way to an agent that cannot call: behind a second kernel, or on another machine.
//
// Everything goes through the engine: it starts a second process of the agent's program in the
// container (agent/relay.h), and the connection to the engine becomes that one's stdio. Each
// connection is a process of its own, so a daemon that comes after this one starts another. Who
// comes again shows a token, which commands in the sandbox do not have; it lies in a directory of
// ours that no container sees, and outlives the daemon.
#pragma once

#include <memory>
#include <string>

#include "container/agent_way.h"
#include "container/engine_client.h"

namespace atl::container {

class AgentRelay final : public AgentWay {
 public:
  // Makes directory `name` below `parent`, with a token of its own. Code::already_exists when it is
  // there. The client outlives the relay.
  static Result<std::unique_ptr<AgentRelay>> make(EngineClient& client, const std::string& parent,
                                                  const std::string& name);
  // With the token of an earlier daemon; Code::not_found when it is gone.
  static Result<std::unique_ptr<AgentRelay>> take_up(EngineClient& client,
                                                     const std::string& parent,
                                                     const std::string& name);

  const std::string& token() const { return token_; }

  // The relay waits for the agent, and nobody else can be where it looks.
  Result<> open() override { return {}; }
  void expect(pid_t) override {}
  Task<AgentCall> await_call() override;
  void close() override { is_closed_ = true; }

 private:
  AgentRelay(EngineClient& client, std::string container, std::string token)
      : client_(client), container_(std::move(container)), token_(std::move(token)) {}

  EngineClient& client_;
  const std::string container_;
  const std::string token_;
  bool is_closed_ = false;
};

}  // namespace atl::container
