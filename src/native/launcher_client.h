// The daemon's side of the launcher: starts it if need be, talks to it, and connects again when it
// has died.
//
// Lives on the core loop. A call that is under way when the launcher dies fails with
// Code::unavailable; the next one waits for the keeper to bring the launcher back (a few
// milliseconds), within its own deadline. Whether an interrupted create came about shows in list().
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/task.h"
#include "native/launcher_protocol.h"

namespace atl::native {

struct KeptLauncher {
  std::string run_directory;  // made if missing (0711)
  std::string libexec;        // where atoll-launcher and atoll-agent are
  uid_t uid = 0;              // whom the launcher serves, and as whom sandboxes run
  gid_t gid = 0;
};

struct EmbeddedLauncher {
  // Each run takes a locked directory of its own in here and removes what killed runs have left.
  std::string base_directory;
  std::string libexec;
  bool is_silent = false;  // otherwise what it has to say goes to stderr
};

class LauncherClient final {
 public:
  // None connects yet; all fail only when the directory or the programs cannot be used.
  static Result<std::unique_ptr<LauncherClient>> kept(asio::any_io_executor executor,
                                                      KeptLauncher options);
  static Result<std::unique_ptr<LauncherClient>> embedded(asio::any_io_executor executor,
                                                          EmbeddedLauncher options);
  // One that a service of the host keeps, by its socket; it is never started from here.
  static Result<std::unique_ptr<LauncherClient>> served(asio::any_io_executor executor,
                                                        const std::string& socket);
  ~LauncherClient();

  // True for a launcher whose sandboxes end with this process.
  bool is_embedded() const;
  // The run directory; of an embedded launcher it is this process's own, and whatever is in it goes
  // with the process.
  const std::string& run_path() const;

  // Makes sure that a launcher answers.
  Task<LauncherHello> hello();
  // Gives the connection to the new sandbox's agent. The launcher makes one box after the other, so
  // tenants take turns before it is asked.
  Task<Fd> create(std::string tenant, LaunchRequest request, Fd config,
                  std::vector<Fd> directories);
  Task<Fd> connect(std::string id);
  Task<> renew(RenewRequest request);
  Task<> pause(std::string id);
  Task<> resume(std::string id);
  Task<> resize(ResizeRequest request);
  // Returns once nothing of the sandbox is left.
  Task<> destroy(std::string id);
  Task<std::vector<LaunchedRow>> list();
  Task<> end_all();

  // An embedded launcher ends with everything that it made, and this waits for it; destroy() of a
  // sandbox that ends so has succeeded. One goodbye instead of one for each sandbox and one for it.
  void leave();

  using OnEnded = std::function<void(const EndedEvent& event)>;
  // For one driver's sandboxes; drivers register at their birth and outlive every call here.
  void subscribe(OnEnded on_ended);

  // How often a connection had to be made anew.
  uint64_t reconnects() const;

 private:
  struct Impl;
  explicit LauncherClient(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with operations under way
};

}  // namespace atl::native
