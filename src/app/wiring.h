// The daemon wired together, in one place.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/otlp_transport.h"
#include "base/task.h"
#include "core/engine.h"
#include "drivers/extension/grants.h"
#include "policy/opa.h"

namespace atl::native {
class LauncherClient;
}

namespace atl::app {

// What helps when the address is taken.
inline constexpr std::string_view kOtherAddress = "choose another with --listen HOST:PORT";

struct DaemonParts {
  std::string database;                             // the file
  std::string templates;                            // their directory
  std::string admin_key;                            // a key that must work
  std::function<Result<>()> forget_admin_key = {};  // when it is revoked
  std::string socket;                               // where the Unix socket appears
  std::string address;                              // literal; "" = no TCP
  uint16_t port = 0;                                // 0 = the kernel's choice
  size_t most_parked = 0;                           // sandboxes of a kind that are made ahead
  std::string engine_directory = {};                // for drivers over somebody else's engine
  std::string agent = {};                           // atoll-agent; "" = not found
  std::vector<extension::Grant> extensions = {};    // drivers that live outside of our tree
  bool local_users = false;   // the socket is for everybody on this host (0666)
  double requests_per_s = 0;  // of each key; 0 = no limit
  EngineOptions engine;
  policy::OpaOptions policy = {};           // the server that is asked before something is made
  std::vector<std::string> origins;         // of web pages that may call
  OtlpTarget otlp = {};                     // where spans go
  std::function<void(Ending)> on_shutdown;  // somebody asks over the API
};

// The daemon without its process: store, engine, API and servers on the caller's loop.
class Daemon final {
 public:
  // `launcher` outlives the daemon. Blocks while it opens the store.
  static Result<std::unique_ptr<Daemon>> create(asio::any_io_executor executor,
                                                native::LauncherClient& launcher,
                                                DaemonParts parts);
  ~Daemon();

  // Takes up what earlier daemons left, then begins to listen: whoever reaches it, reaches it
  // ready.
  Task<> start();
  // With Ending::leave_sandboxes calls under way get a moment to finish first.
  Task<> stop(Ending ending);

  // The port that is listened on; 0 without TCP.
  uint16_t port() const;

 private:
  struct Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace atl::app
