// What the command line needs from the program around it: a daemon to become, and an engine of its
// own.
//
// app/ implements this, because only app/ knows drivers, store and launcher.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/batch.h"
#include "core/engine.h"
#include "core/route_plan.h"
#include "policy/opa.h"

namespace atl::cli {

struct ServeOptions {
  std::string listen;  // "HOST:PORT"; "none" = the Unix socket only
  std::string state_directory;
  std::string user;             // "" = `atoll` if there is such a user
  std::string launcher;         // the socket of one that runs as a service; "" = our own
  size_t most_parked = 64;      // sandboxes of a kind that are made ahead
  bool local_users = false;     // everybody on this host may use the socket, each as a tenant
  size_t requests_per_s = 500;  // of each key; 0 = no limit
  size_t sandboxes_per_tenant = 10'000;
  AdmissionOptions admission;
  policy::OpaOptions policy;         // the server that is asked; without a URL nobody is
  std::vector<std::string> origins;  // of web pages that may call
  std::chrono::seconds default_ttl{3600};
  std::chrono::seconds longest_ttl{7 * 24 * 3600};
  size_t most_sandboxes = 10'000;
  size_t most_history = 10'000;                      // ended sandboxes that the store remembers
  std::string otlp_url;                              // of the collector that spans go to; "" = none
  std::string otlp_headers;                          // as OTEL_EXPORTER_OTLP_HEADERS has them
  std::shared_ptr<const policy::Profiles> profiles;  // null = those that are built in
  RoutingOptions routing;                            // the strategy, weights and prices
};

// What a sandbox changed, and the bytes of files in it.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;

  // At `path` and below; "" = everywhere.
  virtual Result<Changes> list(const std::string& path) = 0;
  // All of a file, written to `fd`.
  virtual Result<> read(const std::string& path, int fd) = 0;
};

// What becomes of a command's output.
enum class OutputTo : uint8_t {
  terminal,  // the process gets our own stdout and stderr; or, with exec.terminal, a terminal that
             // ours is lent to
  result,    // collected into the result
};

struct LocalRun {
  CreateRequest sandbox;
  ExecRequest exec;  // argv, env, cwd, user and timeout
  OutputTo output = OutputTo::terminal;
  bool pass_stdin = false;  // to the terminal: our stdin is the process's
  std::string input;        // for OutputTo::result: all that it reads
  // To the terminal: called when the command has ended and its sandbox is still there.
  std::function<void(ChangeSource& changes, const ExitStatus& status)> at_end;
};

// An engine inside this process. Its sandboxes end with it.
class LocalEngine {
 public:
  virtual ~LocalEngine() = default;

  virtual std::vector<DriverView> drivers() = 0;
  virtual Result<Explanation> explain(CreateRequest request) = 0;
  virtual Result<RoutePlan> plan(CreateRequest request, std::string as) = 0;
  // Runs to the end, passing on the signals that people send to stop a program.
  virtual Result<RunResult> run(LocalRun run) = 0;
  virtual Result<> run_batch(std::shared_ptr<BatchRuns> runs, BatchOptions options) = 0;
};

class Program {
 public:
  virtual ~Program() = default;

  // Serves until told to stop.
  virtual Result<> serve(ServeOptions options) = 0;
  // With these profiles; null = those that are built in.
  virtual Result<std::unique_ptr<LocalEngine>> open_engine(
      std::shared_ptr<const policy::Profiles> profiles) = 0;
  // Where our companions are: atoll-launcher, atoll-agent, atoll-pool, atoll-oci, atoll-attack.
  virtual Result<std::string> find_libexec() = 0;
  // Of every driver that is built or was added, whether it works on this host or not.
  virtual std::vector<std::string> driver_names() = 0;
  // The state directory that the command line means: extensions are noted there.
  virtual void use_state(std::string directory) = 0;
};

}  // namespace atl::cli
