// All that can be asked of a daemon. A call is a value: nothing happens until somebody takes it.
//
//   client.wait(calls::run({.argv = {"true"}}));                 // atoll/client.h
//   co_await async(calls::run({.argv = {"true"}}));              // atoll/async_client.h
//   background.start(calls::run({.argv = {"true"}}), on_done);   // atoll/background_client.h
//
// `id` is a sandbox's id or its name. Paths are relative to the workspace.
#pragma once

#include <atoll/types.h>

#include <memory>

namespace atoll_client {

template <typename T>
class Call final {
 public:
  struct Plan;
  explicit Call(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  const Plan& plan() const { return *plan_; }

 private:
  std::shared_ptr<const Plan> plan_;
};

namespace calls {

// One command in a sandbox of its own that is gone afterwards. Who leaves ends it.
Call<Outcome> run(Command command, Settings settings = {}, OnOutput on_output = {});
// The same for code; Settings::files lie beside it.
Call<Outcome> run_code(Code code, Settings settings = {}, OnOutput on_output = {});

Call<SandboxInfo> create(Settings settings = {});
Call<SandboxInfo> get(std::string id);
Call<SandboxPage> list(ListFilter filter = {});
// Every page of it; more than 100,000 sandboxes are an error.
Call<std::vector<SandboxInfo>> list_all(ListFilter filter = {});
Call<void> destroy(std::string id);
Call<SandboxInfo> stop(std::string id);  // its processes end, its files stay
Call<SandboxInfo> start(std::string id);
Call<SandboxInfo> pause(std::string id);
Call<SandboxInfo> resume(std::string id);
Call<SandboxInfo> renew(std::string id, std::chrono::seconds ttl);
Call<Stats> stats(std::string id);

// A command that fails is no error: its Outcome says how it ended. Who leaves ends the command.
Call<Outcome> exec(std::string id, Command command, OnOutput on_output = {});
// Starts it and lets it run. Its stdin is open: write_input.
Call<Process> spawn(std::string id, Command command);
// Follows it to its end, from that many bytes of each stream on. Who leaves does not end it.
struct Offsets {
  std::uint64_t out = 0, err = 0;
};
Call<Outcome> attach(Process process, OnOutput on_output = {}, Offsets from = {});
Call<std::vector<ProcessInfo>> processes(std::string id);
enum class InputEnd { open, closed };
Call<void> write_input(Process process, std::string bytes, InputEnd then = InputEnd::open);
Call<void> signal(Process process, std::string name);  // "SIGTERM"
Call<void> resize_terminal(Process process, TerminalSize size);

// Not more than `most` bytes: a longer file is an error. A broken connection is made anew.
Call<std::string> read(std::string id, std::string path, std::size_t most = 256 << 20);
Call<void> read_to(std::string id, std::string path, OnBytes on_bytes);
// Missing directories are made. A file is there when all of it has come.
Call<void> write(std::string id, std::string path, std::string bytes, unsigned mode = 0644);
Call<void> write_from(std::string id, std::string path, GiveBytes give, unsigned mode = 0644);
Call<FileInfo> stat(std::string id, std::string path);
Call<std::vector<FileInfo>> list_directory(std::string id, std::string path = ".");
enum class Depth { itself, tree };
Call<void> remove(std::string id, std::string path, Depth depth = Depth::itself);
Call<void> make_directory(std::string id, std::string path);
Call<void> move(std::string id, std::string from, std::string to);
// A directory with all that is in it, as a tar archive.
Call<void> read_archive(std::string id, std::string path, OnBytes on_bytes);
Call<void> write_archive(std::string id, std::string path, GiveBytes give);

// A connection to a port on the sandbox's own loopback, as a local stream socket. It ends with the
// client that made it.
Call<Socket> dial(std::string id, std::uint16_t port);

// What becomes of sandboxes, as it happens, until `on_event` gives false. A connection that breaks
// is made anew: nothing is missed and nothing comes twice.
Call<void> follow_events(EventFilter filter, OnEvent on_event);

Call<NewKey> create_key(KeyWish wish = {});
Call<std::vector<KeyInfo>> keys();
Call<void> revoke_key(std::string key_id);
// Good for one sandbox; 0 = as long as the daemon gives.
Call<Token> make_token(std::string id, std::chrono::seconds ttl = std::chrono::seconds(0));

Call<Identity> whoami();
Call<Limits> limits();
Call<DaemonVersion> version();
Call<std::vector<DriverInfo>> drivers();

}  // namespace calls
}  // namespace atoll_client
