// AgentDoor: where the agent of one container calls (agent/caller.h).
//
// A directory of ours that the container sees read-only, with a socket in it while we wait for a
// call. The guest can write nothing there, so it can neither lead us elsewhere nor fill the host.
// It can call, too: whoever is not the container's first process, as the kernel tells it, is sent
// away, and after a number of those the wait is given up, so that the guest cannot keep the loop
// busy.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/task.h"
#include "container/agent_way.h"

namespace atl::container {

class AgentDoor final : public AgentWay {
 public:
  // Makes directory `name` below `parent`, which is ours alone. Code::already_exists when it is
  // there.
  static Result<std::unique_ptr<AgentDoor>> make(asio::any_io_executor executor, std::string parent,
                                                 const std::string& name);
  // Takes up the directory of an earlier daemon; made again if it has gone.
  static Result<std::unique_ptr<AgentDoor>> take_up(asio::any_io_executor executor,
                                                    std::string parent, const std::string& name);
  ~AgentDoor() override;

  // On the host; what the container is shown.
  const std::string& path() const;

  // The socket is there from now on, until await_call() returns or close().
  Result<> open() override;
  void expect(pid_t agent) override { agent_ = agent; }
  // Its call; opens if need be.
  Task<AgentCall> await_call() override;
  void close() override;
  // Directory and all. Missing is fine.
  static Result<> remove(const std::string& parent, const std::string& name);

 private:
  struct Core;
  explicit AgentDoor(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  static Task<AgentCall> await_call_on(std::shared_ptr<Core> core, pid_t agent);

  std::shared_ptr<Core> core_;
  pid_t agent_ = 0;
};

}  // namespace atl::container
