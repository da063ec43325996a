// A sandbox that is a container with our agent as its first process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/event.h"
#include "container/agent_way.h"
#include "container/engine_client.h"
#include "container/engine_images.h"
#include "container/first_words.h"
#include "driver/driver.h"
#include "guest/agent_guest.h"

namespace atl::container {

// What a driver and its handles share. Coroutines hold it, so that it outlives both.
struct Fleet {
  Fleet(const asio::any_io_executor& where, const Dialect& spoken, EngineAddress address)
      : executor(where),
        dialect(spoken),
        client(where, spoken, std::move(address)),
        images(client.line()),
        closing(where) {}

  asio::any_io_executor executor;
  const Dialect& dialect;
  EngineClient client;
  EngineImages images;
  // The agent's program where the engine can see it; "" = it cannot.
  std::string agent_on_engine() const { return client.line().address().is_local() ? agent : ""; }
  // Of the engine's host; 0 = it is elsewhere.
  uint64_t processors() const;
  // Into a container that has been made and not started, where it is not seen.
  Task<> copy_agent(std::string container);

  std::string directory;  // what is kept of each sandbox here: its door, or its token
  std::string instance;   // whose the containers are
  std::string agent;      // the program, here
  // Which sandboxes live, and when their time is up (zero = never, or not known).
  std::map<std::string, Micros> live;
  // Which container of its name each of them is: one that is reset has another.
  std::map<std::string, uint64_t> births;
  uint64_t last_birth = 0;
  // The handles of live ones: whoever waits for an agent that has ended need not wait until the
  // engine has noticed that its relay has ended, too.
  std::map<std::string, guest::AgentGuest*> guests;
  // For an end that nobody has asked for; empty once the driver is gone.
  std::function<void(std::string id, EndedBy why)> tell;
  Event closing;  // the driver is gone
};

// A container that went on from a memory that was kept has a clock that goes on from there.
enum class OwnClock : uint8_t { no, yes };

class ContainerSandbox final : public Sandbox {
 public:
  // `words` is what a new agent is told; none for one that has been told already.
  ContainerSandbox(std::shared_ptr<Fleet> fleet, std::string id, std::unique_ptr<AgentWay> way,
                   std::optional<FirstWords> words, OwnClock own_clock = OwnClock::no);
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

  // For whoever keeps its memory: its agent hears nobody from now on, and whoever asks for it waits
  // until wake().
  Task<> rest();
  void wake();
  // One that went on from a memory that was kept: what its agent is told instead of what it knows.
  Task<> become(std::string words, Micros expires_at);

 private:
  struct Line;
  static Task<net::StreamPtr> open_stream(std::shared_ptr<Line> line);

  std::shared_ptr<Line> line_;
  guest::AgentGuest guest_;
};

// Container, its volumes and what is kept of it here; one that is not there is gone.
Task<> remove_container(std::shared_ptr<Fleet> fleet, std::string id);

}  // namespace atl::container
