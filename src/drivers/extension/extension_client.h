// ExtensionClient: calls to one extension. Each call is a connection of its own: the kernel tells
// who is at the other end of it, and it has a deadline; a call that hangs holds nobody else up.
//
// Lives on the core loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drivers/extension/grants.h"
#include "drivers/extension/line_stream.h"
#include "drivers/extension/messages.h"

namespace atl::extension {

class ExtensionClient final {
 public:
  ExtensionClient(asio::any_io_executor executor, Grant grant)
      : executor_(std::move(executor)), grant_(std::move(grant)) {}

  const Grant& grant() const { return grant_; }
  const std::string& name() const { return grant_.manifest.name; }
  // Who listened when it was last spoken to.
  const net::PeerCredentials& listener() const { return listener_; }

  // Who it is and what works now; within what was granted, or Code::permission_denied.
  Task<Claim> hello();
  Task<> create(Call call);
  Task<std::vector<ListedSandbox>> list();
  // One that is not there is fine.
  Task<> destroy(std::string id);
  // pause, resume or resize.
  Task<> change(Call call);

  struct Opened {
    std::unique_ptr<LineStream> stream;
    Reached agent = Reached::calls;
  };
  // A connection to the sandbox's agent, through the extension.
  Task<Opened> open(std::string id);
  // A connection on which it tells what has ended, a line each.
  Task<std::unique_ptr<LineStream>> events();

  // A line as it stands, and the line that is answered: for checks.
  Task<std::string> say(std::string line, Millis patience);

 private:
  Task<std::unique_ptr<LineStream>> connect(std::chrono::steady_clock::time_point until);
  Task<std::string> ask(Call call, Millis patience);
  // Whose fault it was, in front of what went wrong.
  Error told_by_it(Error error) const;

  asio::any_io_executor executor_;
  Grant grant_;
  net::PeerCredentials listener_;
};

}  // namespace atl::extension
