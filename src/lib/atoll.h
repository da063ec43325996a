// libatoll: sandboxes in your own program, without a daemon.
//
//   #include <atoll.h>
//
//   libatoll::Sandbox box;
//   const auto done = box.run({"python3", "-c", "print(6 * 7)"});
//   std::cout << done.out;  // 42
//
// A Host makes sandboxes ahead and ends them all when it goes; whoever names none shares one that
// lives until the program's end. Nothing of it outlives the program, however that ends.
//
// Calls return when they are done, and may come from any thread. What cannot be done throws Error.
// A command that fails is no error: its Outcome says how it ended. After fork() the child has no
// Host: make one of its own there (the shared one is the parent's), or exec. It says nothing on
// stderr unless $ATOLL_LOG asks for it.
//
// Build with -latoll. The programs that make sandboxes are installed with the library; a library
// elsewhere finds them by $ATOLL_LIBEXEC. (The namespace is not called atoll, because the C library
// has a function of that name.)
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libatoll {

class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message, std::string hint)
      : std::runtime_error(message), code_(std::move(code)), hint_(std::move(hint)) {}

  // As the HTTP API has it: "unavailable", "resource_exhausted", "invalid_argument", …
  const std::string& code() const { return code_; }
  // What would help; may be empty.
  const std::string& hint() const { return hint_; }

 private:
  std::string code_, hint_;
};

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env = {};  // over the sandbox's own
  std::string cwd = {};                         // "" = the workspace
  std::string input = {};                       // all that it reads from stdin
  std::chrono::milliseconds timeout{0};         // it is killed then with all below it; 0 = never
  std::chrono::milliseconds cpu_time{0};        // the same, by the processors' time
  std::size_t keep = 8 << 20;                   // bytes of each stream; what is more is dropped
  bool warm = true;  // an interpreter that is running already may serve it
};

// The arguments of a command, as in run({"ls", "-l"}).
template <std::size_t N>
using Words = const std::string_view (&)[N];
template <std::size_t N>
Command to_command(Words<N> argv) {
  return Command{.argv = std::vector<std::string>(argv, argv + N)};
}

struct Outcome {
  int exit_code = 0;
  int signal = 0;
  std::string reason;  // "exited", "signaled", "timeout", "oom", "killed", "policy", "infra"
  std::string out, err;
  std::string code;        // of run_all, with "infra": as in Error; `err` is the message
  bool truncated = false;  // a stream was longer than `keep`
  bool warm = false;
  std::string driver, isolation;  // what it ran on
  std::chrono::microseconds duration{0}, cpu{0};
  std::size_t peak_memory_bytes = 0;
  bool made_ahead = false;  // its sandbox was there before anybody asked for it

  bool ok() const { return reason == "exited" && exit_code == 0; }
};

enum class Access { read_only, read_write, copy_on_write };

// A directory of the host that the sandbox sees.
struct Directory {
  std::string host_path;
  std::string path = {};  // in the sandbox; "" = the same
  Access access = Access::read_only;
};

// What a sandbox is like. Zero and "" are the defaults of the driver.
struct Settings {
  std::string driver = {};         // "" = the first that is strong enough
  std::string min_isolation = {};  // the weakest allowed: "process", "container", "sentry", "vm"
  std::map<std::string, std::string> env = {};
  std::size_t memory_mb = 0, disk_mb = 0;
  double cpus = 0;
  int pids = 0;
  std::vector<Directory> directories = {};
  // Of a Sandbox: "python3" or "node" waits for the first command. Runs find one by themselves.
  std::string warm = {};
};

class Host final {
 public:
  struct Options {
    std::size_t parked = 16;   // sandboxes of a kind that are made ahead, at most
    std::string libexec = {};  // where atoll-launcher is; "" = see above
  };
  Host() : Host(Options{}) {}
  explicit Host(const Options& options);
  // Ends what is left: sandboxes that are still in scope throw from then on. No call may be under
  // way.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // One command in a sandbox of its own that is gone afterwards.
  Outcome run(const Command& command, const Settings& settings = {});
  template <std::size_t N>
  Outcome run(Words<N> argv, const Settings& settings = {}) {
    return run(to_command(argv), settings);
  }
  // Many of them, `at_once` at a time (256 at most); in the order in which they were given. One
  // that could not be run has the reason "infra" and says why in `err`.
  std::vector<Outcome> run_all(std::vector<Command> commands, std::size_t at_once = 8,
                               const Settings& settings = {});

  // The one that is shared.
  static Host& shared();

 private:
  friend class Sandbox;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// One that stays until it goes out of scope.
class Sandbox final {
 public:
  explicit Sandbox(const Settings& settings = {}, Host& host = Host::shared());
  ~Sandbox();
  Sandbox(Sandbox&& other) noexcept;
  Sandbox& operator=(Sandbox&& other) noexcept;

  const std::string& id() const { return id_; }
  const std::string& driver() const { return driver_; }
  const std::string& isolation() const { return isolation_; }
  // It was there before anybody asked for it.
  bool made_ahead() const { return made_ahead_; }
  Outcome run(const Command& command);
  template <std::size_t N>
  Outcome run(Words<N> argv) {
    return run(to_command(argv));
  }
  // Paths are relative to the workspace; missing directories are made. A file is there when all of
  // it has come.
  void write(const std::string& path, const std::string& bytes, unsigned mode = 0644);
  // Not more than `most` bytes: a longer file is an error.
  std::string read(const std::string& path, std::size_t most = 256 << 20);

 private:
  void end() noexcept;
  const std::string& own_id() const;

  std::shared_ptr<Host::Impl> host_;
  std::string id_;  // "" = moved from
  std::string driver_, isolation_;
  bool made_ahead_ = false;
};

}  // namespace libatoll
