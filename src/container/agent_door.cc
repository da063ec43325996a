#include "container/agent_door.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>

#include "native/agent_places.h"
#include "net/event.h"
#include "net/listener.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::container {
namespace {

constexpr const char* kSocket = "agent.sock";
constexpr auto kPatience = std::chrono::seconds(20);
constexpr auto kGreetingPatience = std::chrono::seconds(5);
constexpr size_t kMostStrangers = 64;

struct Visitor {
  net::StreamPtr stream;
  pid_t pid = 0;
};

}  // namespace

struct AgentDoor::Core : std::enable_shared_from_this<AgentDoor::Core> {
  Core(asio::any_io_executor where, std::string parent, const std::string& name)
      : executor(where), path(std::move(parent) + "/" + name), rang(where) {}

  Result<> open() {
    if (listener) return {};
    is_closed = false;
    strangers = 0;
    // The guest's user connects to it, whoever that is on the host; others do not get this far,
    // because the directory above is ours alone.
    TRY(auto socket, os::listen_at(directory.get(), kSocket, os::SocketKind::stream, 0666));
    TRY(listener,
        net::Listener::create(executor, std::move(socket),
                              [weak = weak_from_this()](net::StreamPtr stream, net::Peer peer) {
                                if (auto core = weak.lock()) core->on_ring(std::move(stream), peer);
                              }));
    return {};
  }

  void on_ring(net::StreamPtr stream, const net::Peer& peer) {
    // Nobody opens while it is full.
    if (visitors.size() >= kMostStrangers || !peer.credentials) return;
    visitors.push_back({std::move(stream), peer.credentials->pid});
    rang.set();
  }

  void close() {
    if (listener) {
      listener->close();
      listener.reset();
      unlinkat(directory.get(), kSocket, 0);
    }
    visitors.clear();
    is_closed = true;
    rang.set();
  }

  asio::any_io_executor executor;
  std::string path;
  Fd directory;
  std::unique_ptr<net::Listener> listener;
  std::deque<Visitor> visitors;
  size_t strangers = 0;
  net::Event rang;
  bool is_closed = false;
};

Result<std::unique_ptr<AgentDoor>> AgentDoor::make(asio::any_io_executor executor,
                                                   std::string parent, const std::string& name) {
  TRY(const auto above, os::open_at(AT_FDCWD, parent, O_PATH | O_DIRECTORY));
  if (mkdirat(above.get(), name.c_str(), 0755) != 0) {
    if (errno == EEXIST) return Error(Code::already_exists, "sandbox " + name + " exists already");
    return os_error("making the agent's directory in", parent);
  }
  auto door = take_up(std::move(executor), parent, name);
  if (!door) unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);
  return door;
}

Result<std::unique_ptr<AgentDoor>> AgentDoor::take_up(asio::any_io_executor executor,
                                                      std::string parent, const std::string& name) {
  TRY(const auto above, os::open_at(AT_FDCWD, parent, O_PATH | O_DIRECTORY));
  if (mkdirat(above.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
    return os_error("making the agent's directory in", parent);
  auto core = std::make_shared<Core>(std::move(executor), std::move(parent), name);
  TRY(core->directory, os::open_at(above.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  // Whatever the umask was.
  if (fchmod(core->directory.get(), 0755) != 0) return os_error("opening the agent's directory");
  return std::unique_ptr<AgentDoor>(new AgentDoor(std::move(core)));
}

AgentDoor::~AgentDoor() { core_->close(); }

const std::string& AgentDoor::path() const { return core_->path; }

Result<> AgentDoor::open() { return core_->open(); }

void AgentDoor::close() { core_->close(); }

Task<AgentCall> AgentDoor::await_call() { return await_call_on(core_, agent_); }

Task<AgentCall> AgentDoor::await_call_on(std::shared_ptr<Core> core, pid_t agent) {
  CO_TRY_OK(core->open());
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    while (!core->is_closed && core->visitors.empty()) {
      core->rang.reset();
      const bool rang = co_await core->rang.wait_until(until);
      if (rang) continue;
      core->close();
      co_return Error(Code::deadline_exceeded, "the sandbox's agent does not call")
          .with_hint(
              "the engine must run on this host and in its pid namespace; atoll doctor "
              "tells more");
    }
    if (core->is_closed) co_return Error(Code::cancelled, "the sandbox has ended");
    Visitor visitor = std::move(core->visitors.front());
    core->visitors.pop_front();
    if (visitor.pid != agent) {
      if (++core->strangers < kMostStrangers) continue;
      core->close();
      co_return Error(Code::unavailable, "others in the sandbox keep its agent from calling")
          .with_hint("what runs in it is hostile: remove it");
    }
    visitor.stream->set_deadline(std::chrono::steady_clock::now() + kGreetingPatience);
    char greeting = 0;
    auto got = co_await visitor.stream->read_some(&greeting, 1);
    if (!got || *got != 1) continue;  // it calls again
    core->close();
    visitor.stream->set_deadline(std::nullopt);
    co_return AgentCall{.stream = std::move(visitor.stream),
                        .is_new = greeting == native::kCallNew};
  }
}

Result<> AgentDoor::remove(const std::string& parent, const std::string& name) {
  auto above = os::open_at(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY);
  // Nothing was ever made there.
  if (!above && above.error().os_errno() == ENOENT) return {};
  if (!above) return std::move(above).error();
  return os::remove_tree(above->get(), name);
}

}  // namespace atl::container
