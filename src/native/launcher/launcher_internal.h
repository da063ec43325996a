// What the files of the launcher share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "native/launcher/launcher.h"

namespace atl::native {

// In a sandbox's directory.
constexpr const char* kAgentSocket = "agent.sock";
constexpr const char* kWork = "work";
constexpr const char* kTemporary = "tmp";

inline Micros now() { return system_clock().boot(); }

void log(const std::string& message);

struct Launcher::Box {
  struct Waiter {
    Client* client;
    uint32_t request;
  };

  Record record;
  Fd directory;  // while it is being made
  Fd pidfd;
  BoxCgroups cgroups;
  IdRange ids;
  Fd network;
  bool is_child = false;
  bool is_sentry = false;  // all of it is in the groups of its work, the second kernel included
  bool was_paused = false;
  bool ending = false;
  bool expired = false;
  bool is_late = false;
  Micros kill_at{0};
  std::vector<Waiter> waiters;  // for its complete end

  // Once its own has ended, the number may be anybody's.
  bool is_agent(pid_t pid) const { return pidfd && record.pid == pid; }
};

// A sandbox whose agent is just being started.
struct Launcher::Making {
  Client* client;  // nullptr = nobody waits for it any more
  uint32_t request;
  std::unique_ptr<Box> box;
  Fd client_end;  // of the connection to the agent
  std::unique_ptr<BoxInMaking> parts;
};

}  // namespace atl::native
