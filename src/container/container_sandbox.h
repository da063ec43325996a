// A sandbox that is a container with our agent as its first process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/event.h"
#include "container/agent_door.h"
#include "container/engine_client.h"
#include "driver/driver.h"
#include "guest/agent_guest.h"

namespace atl::container {

// What a driver and its handles share. Coroutines hold it, so that it outlives both.
struct Fleet {
  Fleet(const asio::any_io_executor& where, const Dialect& spoken, std::string socket)
      : executor(where),
        dialect(spoken),
        client(where, spoken, std::move(socket)),
        closing(where) {}

  asio::any_io_executor executor;
  const Dialect& dialect;
  EngineClient client;
  std::string directory;  // where doors are made
  // Which sandboxes live, and when their time is up (zero = never, or not known).
  std::map<std::string, Micros> live;
  // For an end that nobody has asked for; empty once the driver is gone.
  std::function<void(std::string id, EndedBy why)> tell;
  Event closing;  // the driver is gone
};

class ContainerSandbox final : public Sandbox {
 public:
  // `agent` is the container's first process; `first_words` is what a new agent is told, "" for one
  // that has been told already.
  ContainerSandbox(std::shared_ptr<Fleet> fleet, std::string id, std::unique_ptr<AgentDoor> door,
                   pid_t agent, std::string first_words);
  ~ContainerSandbox() override;

  const std::string& id() const override;
  bool is_running() const override;
  guest::AgentGuest& guest() override { return guest_; }

  Task<> pause() override;
  Task<> resume() override;
  Task<> resize(Resources resources) override;
  Task<SandboxStats> stats() override { co_return co_await guest_.stats(); }
  // The agent stays: it keeps the environment, which is stored nowhere else.
  Task<> stop() override { co_return co_await guest_.end_processes(); }
  Task<> recreate(SandboxSpec) override { co_return co_await guest_.end_processes(); }
  Task<> renew(Micros expires_at) override;
  Task<> destroy() override;

 private:
  struct Line;
  static Task<net::StreamPtr> open_stream(std::shared_ptr<Line> line);

  std::shared_ptr<Line> line_;
  guest::AgentGuest guest_;
};

// Container and door; one that is not there is gone.
Task<> remove_container(std::shared_ptr<Fleet> fleet, std::string id);

}  // namespace atl::container
