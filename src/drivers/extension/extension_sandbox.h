// A sandbox that an extension has made, with our agent in it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/event.h"
#include "container/first_words.h"
#include "driver/driver.h"
#include "drivers/extension/extension_client.h"
#include "drivers/extension/identity.h"
#include "guest/agent_guest.h"

namespace atl::extension {

// What a driver and its handles share. Coroutines hold it, so that it outlives both.
struct Fleet {
  Fleet(const asio::any_io_executor& where, Grant grant)
      : executor(where), client(where, std::move(grant)), closing(where) {}

  struct Life {
    Micros due{0};       // when its time is up; zero = never, or not known
    uint64_t birth = 0;  // one that is made anew under its id has another
  };

  void note_birth(const std::string& id, Micros due) {
    live.insert_or_assign(id, Life{due, ++last_birth});
  }
  // Of whichever lives under this id now; 0 = none.
  uint64_t birth_of(const std::string& id) const;
  // It no longer lives. With the last one nobody need listen any more.
  void forget(const std::string& id);
  // The one of this birth has ended, and nobody has asked for it: tells, once.
  void note_end(const std::string& id, uint64_t birth, std::optional<int64_t> exit_code);

  asio::any_io_executor executor;
  ExtensionClient client;
  Identity identity;
  std::optional<Capabilities> can;  // as last probed: what is not in it is never asked for
  std::map<std::string, Life> live;
  uint64_t last_birth = 0;
  // The handles of live ones: whoever waits for an agent that has ended is told at once.
  std::map<std::string, guest::AgentGuest*> guests;
  // For an end that nobody has asked for; empty once the driver is gone.
  std::function<void(std::string id, EndedBy why)> tell;
  LineStream* events = nullptr;  // while somebody listens
  bool is_listening = false;
  Event closing;  // the driver is gone
};

class ExtensionSandbox final : public Sandbox {
 public:
  // `words` is what a new agent is told; none for one that has been told already.
  ExtensionSandbox(std::shared_ptr<Fleet> fleet, std::string id,
                   std::optional<container::FirstWords> words);
  ~ExtensionSandbox() override;

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

AskedResources to_asked(const Resources& resources);

}  // namespace atl::extension
