// A sandbox that is an agent under the launcher.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "driver/driver.h"
#include "guest/agent_guest.h"
#include "native/launcher_client.h"

namespace atl::native {

// Which sandboxes' agents live, as far as the launcher has told, and when their time is up (zero =
// never, or not known). Shared by the driver and its handles.
using LiveSet = std::map<std::string, Micros>;

// What is around its agent.
enum class Around : uint8_t { nothing, box, second_kernel };

class LaunchedSandbox final : public Sandbox {
 public:
  // `first` is the connection to the agent that came with the sandbox.
  LaunchedSandbox(asio::any_io_executor executor, LauncherClient& launcher, std::string id,
                  Around around, std::shared_ptr<LiveSet> live, net::StreamPtr first);

  const std::string& id() const override { return id_; }
  bool is_running() const override { return live_->contains(id_); }
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
  Task<net::StreamPtr> open_stream();

  asio::any_io_executor executor_;
  LauncherClient& launcher_;
  const std::string id_;
  const Around around_;
  std::shared_ptr<LiveSet> live_;
  net::StreamPtr first_;
  guest::AgentGuest guest_;
};

CgroupLimits limits_of(const Resources& resources);

}  // namespace atl::native
