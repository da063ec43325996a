// The C++ client of Atoll: sandboxes of a daemon, in calls that return when they are done.
//
//   #include <atoll/client.h>
//
//   atoll_client::Client client;  // the daemon of this host, or of $ATOLL_URL
//   atoll_client::Sandbox box(client);
//   const auto done = box.run({"python3", "-c", "print(6 * 7)"});
//   std::cout << done.out;  // 42
//
// What cannot be done throws Error; what a callback of yours throws comes out as it is. A command
// that fails is no error: its Outcome says how it ended.
//
// Threads: a Client may be used by any number of threads at once, each with a connection of its
// own; callbacks run in the thread that made the call. A Sandbox is used by one thread at a time,
// but for its const members. After fork() the child makes a Client of its own.
//
// Every wait has a deadline (Options), every answer a limit: 64 MiB of JSON, and what Command::keep
// and read() say.
#pragma once

#include <atoll/calls.h>

namespace atoll_client {

class Client final {
 public:
  // Throws if no daemon is there: "unavailable". One that is named by a URL is called by the first
  // call.
  explicit Client(const Options& options = {});
  // No call may be under way.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Does what the call says, and gives what comes of it.
  template <typename T>
  T wait(const Call<T>& call);

  Outcome run(Command command, Settings settings = {}, OnOutput on_output = {}) {
    return wait(calls::run(std::move(command), std::move(settings), std::move(on_output)));
  }
  Outcome run_code(Code code, Settings settings = {}, OnOutput on_output = {}) {
    return wait(calls::run_code(std::move(code), std::move(settings), std::move(on_output)));
  }
  template <std::size_t N>
  Outcome run(Words<N> argv, Settings settings = {}) {
    return run(to_command(argv), std::move(settings));
  }
  std::vector<SandboxInfo> list(ListFilter filter = {}) {
    return wait(calls::list_all(std::move(filter)));
  }
  DaemonVersion version() { return wait(calls::version()); }
  Identity whoami() { return wait(calls::whoami()); }
  void follow_events(EventFilter filter, OnEvent on_event) {
    wait(calls::follow_events(std::move(filter), std::move(on_event)));
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A sandbox that ends when this goes out of scope, unless it is left. The client outlives it.
class Sandbox final {
 public:
  explicit Sandbox(Client& client, Settings settings = {})
      : client_(&client), info_(client.wait(calls::create(std::move(settings)))), owned_(true) {}
  // One that is there already, and stays.
  static Sandbox at(Client& client, std::string id) {
    return Sandbox(client.wait(calls::get(std::move(id))), client);
  }
  ~Sandbox() { end(); }
  Sandbox(Sandbox&& other) noexcept
      : client_(other.client_),
        info_(std::move(other.info_)),
        owned_(std::exchange(other.owned_, false)) {}
  Sandbox& operator=(Sandbox&& other) noexcept {
    if (this == &other) return *this;
    end();
    client_ = other.client_;
    info_ = std::move(other.info_);
    owned_ = std::exchange(other.owned_, false);
    return *this;
  }

  const std::string& id() const { return info_.id; }
  // As it was when it was made, or last asked for.
  const SandboxInfo& info() const { return info_; }
  // It stays when this goes.
  void leave() { owned_ = false; }

  Outcome run(Command command, OnOutput on_output = {}) const {
    return client_->wait(calls::exec(id(), std::move(command), std::move(on_output)));
  }
  template <std::size_t N>
  Outcome run(Words<N> argv) const {
    return run(to_command(argv));
  }
  Process spawn(Command command) const {
    return client_->wait(calls::spawn(id(), std::move(command)));
  }

  void write(std::string path, std::string bytes, unsigned mode = 0644) const {
    client_->wait(calls::write(id(), std::move(path), std::move(bytes), mode));
  }
  std::string read(std::string path, std::size_t most = 256 << 20) const {
    return client_->wait(calls::read(id(), std::move(path), most));
  }
  std::vector<FileInfo> list(std::string path = ".") const {
    return client_->wait(calls::list_directory(id(), std::move(path)));
  }
  Socket dial(std::uint16_t port) const { return client_->wait(calls::dial(id(), port)); }

  void stop() { info_ = client_->wait(calls::stop(id())); }
  void start() { info_ = client_->wait(calls::start(id())); }
  void pause() { info_ = client_->wait(calls::pause(id())); }
  void resume() { info_ = client_->wait(calls::resume(id())); }
  void renew(std::chrono::seconds ttl) { info_ = client_->wait(calls::renew(id(), ttl)); }
  // At once, and with what goes wrong, which the destructor keeps to itself.
  void destroy() {
    client_->wait(calls::destroy(id()));
    owned_ = false;
  }

 private:
  Sandbox(SandboxInfo info, Client& client) : client_(&client), info_(std::move(info)) {}
  void end() noexcept;

  Client* client_;
  SandboxInfo info_;
  bool owned_ = false;
};

}  // namespace atoll_client
