// What the C++ client of Atoll takes and gives. The words are those of libatoll (atoll.h), which
// has sandboxes inside the program; a program may use both.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atoll_client {

// A step of the start of a sandbox: "route", "image", "create", "boot", "readiness", …
struct StartStage {
  std::string name;
  double ms = 0;
  std::string log = {};  // why it failed, or what was said meanwhile
};

// What a daemon refuses, what cannot be reached, and what is given wrongly. `code` is that of the
// HTTP API: "unavailable", "not_found", "invalid_argument", …
class Error : public std::runtime_error {
 public:
  struct Facts {
    std::string code;
    std::string hint = {};        // what would help
    std::string stage = {};       // where it failed: "route", "create", "exec", …
    std::string request_id = {};  // of the daemon's log; "" if it never came there
    // Of a sandbox that could not be made: its id, and how far it came, the failed stage last.
    std::string sandbox = {};
    std::vector<StartStage> stages = {};
  };
  Error(const std::string& message, Facts facts)
      : std::runtime_error(message), facts_(std::move(facts)) {}

  const std::string& code() const { return facts_.code; }
  const std::string& hint() const { return facts_.hint; }
  const std::string& stage() const { return facts_.stage; }
  const std::string& request_id() const { return facts_.request_id; }
  const std::string& sandbox() const { return facts_.sandbox; }
  const std::vector<StartStage>& stages() const { return facts_.stages; }
  // The same call may succeed later.
  bool is_retryable() const {
    return facts_.code == "unavailable" || facts_.code == "resource_exhausted";
  }

 private:
  Facts facts_;
};

// How a daemon is found: what is given here, $ATOLL_URL and $ATOLL_API_KEY, the daemon of
// $ATOLL_STATE, or that of the user's own state directory. A key never goes to a host that it is
// not for.
struct Options {
  std::string url = {};              // http://host:port, https://host, unix:/path/atoll.sock
  std::string key = {};              // a key, or a token for one sandbox
  std::string state_directory = {};  // whose daemon is meant
  // For an answer that is not a stream, and for the next bytes of a file.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  // For a command or another stream, all of it. Command::timeout ends a command sooner.
  std::chrono::milliseconds longest_stream = std::chrono::hours(24);
  std::string traceparent = {};  // W3C; the daemon's spans stand below it
};

struct TerminalSize {
  int rows = 24, columns = 80;
};

struct Command {
  std::vector<std::string> argv = {};
  std::string shell = {};                       // instead of argv: a line for /bin/sh
  std::map<std::string, std::string> env = {};  // over the sandbox's own
  std::string cwd = {};                         // "" = the workspace
  std::string user = {};                        // "" = the sandbox's own
  std::string input = {};                       // all that it reads from stdin, at most 4 MiB
  std::chrono::milliseconds timeout{0};         // it is killed then with all below it; 0 = never
  std::chrono::milliseconds cpu_time{0};        // the same, by the processors' time
  std::size_t keep = 8 << 20;                   // bytes of each stream; what is more is dropped
  bool warm = true;  // an interpreter that is running already may serve it
  // Instead of pipes: all its output is one stream.
  std::optional<TerminalSize> terminal = {};
};

// Code instead of a command; the sandbox must have the program of its language.
struct Code {
  std::string text = {};
  std::string language = {};                   // "" = python
  std::vector<std::string> requirements = {};  // packages that pip or npm installs first
  Command with = {};                           // the rest of it: neither argv nor shell
};

// The arguments of a command, as in run({"ls", "-l"}).
template <std::size_t N>
using Words = const std::string_view (&)[N];
template <std::size_t N>
Command to_command(Words<N> argv) {
  return Command{.argv = std::vector<std::string>(argv, argv + N)};
}

enum class Stream { out, err };
// Output as it comes. What it throws ends the call and comes out of it.
using OnOutput = std::function<void(Stream stream, std::string_view bytes)>;

struct Outcome {
  int exit_code = 0;
  int signal = 0;
  std::string reason;      // "exited", "signaled", "timeout", "oom", "killed", "policy", "infra"
  std::string limit;       // which one ended it: "wall_time", "cpu_time", "output"; mostly ""
  std::string out, err;    // empty if somebody was told of the output as it came
  bool truncated = false;  // a stream was longer than `keep`, or the daemon had dropped some of it
  bool warm = false;
  std::string sandbox;                      // where it ran
  std::string driver = {}, isolation = {};  // of a run
  std::chrono::microseconds duration{0}, cpu{0};
  std::uint64_t peak_memory_bytes = 0;
  std::string request_id;

  bool ok() const { return reason == "exited" && exit_code == 0; }
};

// A command that was started and goes on by itself.
struct Process {
  std::string sandbox;
  std::uint64_t id = 0;
};

struct ProcessInfo {
  std::uint64_t id = 0;
  int pid = 0;  // in the sandbox
  std::vector<std::string> argv;
  std::string started_at;
  bool running = false;
  bool has_terminal = false;
};

enum class Access { read_only, read_write, copy_on_write };

// A directory of the daemon's host that the sandbox sees; only through its Unix socket.
struct Directory {
  std::string host_path;
  std::string path = {};  // in the sandbox; "" = the same
  Access access = Access::read_only;
};

// What a sandbox is like. Zero and "" are the defaults of the daemon and the driver.
struct Settings {
  std::string driver = {};         // "" = the first that is strong enough
  std::string min_isolation = {};  // the weakest allowed: "process", "container", "sentry", "vm"
  std::string name = {};           // the same name again gives the same sandbox while it lives
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> env = {};
  std::size_t memory_mb = 0, disk_mb = 0;
  double cpus = 0;
  int pids = 0;
  std::vector<Directory> directories = {};
  std::string warm = {};  // "python3" or "node" waits for the first command
  std::string user = {}, cwd = {};
  std::map<std::string, std::string> files = {};  // bytes by path, in it from the beginning
  std::chrono::seconds ttl{0};                    // it ends then, whatever it does
  std::chrono::seconds idle{0};  // it ends when nothing was asked of it for so long
  // Instead of ending it can rest, and the next use wakes it: "stop", "pause"; "" = "kill".
  std::string on_expire = {}, on_idle = {};
  std::chrono::seconds keep{0};  // how long it is kept after its ttl
  std::string on_failure = {};   // "recreate": it is made anew when it dies
};

// The members that programs branch on; `json` is all that the daemon said.
struct SandboxInfo {
  std::string id, name, state, driver, isolation, tenant, owner;
  std::map<std::string, std::string> labels;
  std::string created_at, expires_at;  // RFC 3339; "" = never
  std::string failure;                 // why, of one that failed
  std::string json;
};

struct ListFilter {
  std::string state = {}, driver = {}, name = {}, tenant = {};
  std::map<std::string, std::string> labels = {};
  std::size_t limit = 100;  // of a page, 1 to 1,000
  std::string cursor = {};  // the last page's `next`
};

struct SandboxPage {
  std::vector<SandboxInfo> sandboxes;
  std::string next;  // "" on the last page
};

struct Stats {
  std::uint64_t processes = 0, memory_bytes = 0;
  std::chrono::microseconds cpu{0}, age{0};
};

enum class FileKind { file, directory, symlink, other };

struct FileInfo {
  std::string name, path;
  FileKind kind = FileKind::other;
  std::uint64_t size = 0;
  unsigned mode = 0;  // permission bits
  std::string modified_at, link_target;
  std::string etag;  // another one whenever the file has changed
};

// Bytes as they come; and bytes to send, at most `most` of them, 0 at the end. What they throw ends
// the call and comes out of it.
using OnBytes = std::function<void(std::string_view bytes)>;
using GiveBytes = std::function<std::size_t(char* into, std::size_t most)>;

struct Event {
  std::string id;    // what `after` takes
  std::string type;  // "sandbox.running", …; "reset": some are missing, list the sandboxes anew
  std::string at, sandbox, name, driver, from, state, reason;
  bool is_run = false;  // of the sandbox of a single run
};

struct EventFilter {
  std::string after = {};  // go on behind this one; "0" = from the oldest kept; "" = from now on
  std::string sandbox = {}, state = {};
  bool with_runs = true;
  // How long a daemon that was there may be away before following it fails.
  std::chrono::milliseconds away = std::chrono::minutes(1);
};
// False ends it.
using OnEvent = std::function<bool(const Event& event)>;

struct KeyWish {
  std::string role = "member";  // "admin", "member", "viewer", "agent"
  std::string tenant = {}, label = {};
  std::chrono::seconds ttl{0};  // 0 = for ever
};

struct KeyInfo {
  std::string id, tenant, role, label, created_at, expires_at, last_used_at;
};

// `secret` is told once.
struct NewKey {
  KeyInfo info;
  std::string secret;
};

struct Token {
  std::string secret, sandbox, expires_at;
};

struct Identity {
  std::string tenant, subject, role, sandbox;
  std::vector<std::string> may;
};

// Numbers that the daemon names; what has none is not there.
using Limits = std::map<std::string, double>;

struct DaemonVersion {
  std::string version, api, instance_id;
};

struct DriverInfo {
  std::string name, summary, isolation;
  bool available = false;
  std::string unavailable_because, hint;
};

// A connected stream socket that is closed when it goes.
class Socket final {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { reset(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int fd() const { return fd_; }
  // The caller closes it then.
  int release() { return std::exchange(fd_, -1); }

 private:
  void reset() noexcept;
  int fd_ = -1;
};

}  // namespace atoll_client
