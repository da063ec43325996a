#include "native/launcher_client.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <optional>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/fair_turns.h"
#include "base/text.h"
#include "net/event.h"
#include "os/file.h"
#include "os/process.h"
#include "os/socket.h"

extern char** environ;

namespace atl::native {
namespace {

constexpr auto kAnswerPatience = std::chrono::seconds(60);
// One is made and the next one waits there, so that the launcher is never idle.
constexpr size_t kMadeAtOnce = 2;
constexpr auto kConnectPatience = std::chrono::seconds(10);
constexpr auto kStartPause = std::chrono::milliseconds(200);
constexpr auto kConnectPause = std::chrono::milliseconds(2);
constexpr int kMostSuccessors = 3;
constexpr auto kLeavePatience = std::chrono::seconds(3);

Error gone() {
  return Error(Code::unavailable, "the launcher does not answer")
      .with_hint("it is started again by itself; see launcher.log in the run directory");
}

struct Answer {
  Operation operation{};
  std::string body;
  std::vector<Fd> descriptors;
};

struct Pending {
  explicit Pending(const asio::any_io_executor& executor) : done(executor) {}
  net::Event done;
  std::optional<Answer> answer;
};

// Starts atoll-launcher with `descriptors` as 3, 4, …, and its messages going to `log`.
// In a session of its own: a terminal's Ctrl-C is for us, and the launcher clears away after us.
Result<pid_t> spawn_launcher(const std::string& program, std::vector<std::string> arguments,
                             const std::vector<int>& descriptors, int log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, log, 1);
  posix_spawn_file_actions_adddup2(&actions, log, 2);
  // By copies above the places that they go to: a place may be the number of one that is still to
  // be moved.
  constexpr int kAside = 16;
  const int count = static_cast<int>(descriptors.size());
  std::vector<Fd> copies;
  copies.reserve(descriptors.size());
  for (int i = 0; i < count; ++i) {
    copies.emplace_back(fcntl(descriptors[static_cast<size_t>(i)], F_DUPFD_CLOEXEC, kAside));
    posix_spawn_file_actions_adddup2(&actions, copies.back().get(), 3 + i);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, 3 + count);

  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  char* no_environment[] = {nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int failure =
      posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), no_environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return os_error_from(failure, "starting", program)
        .with_hint("is Atoll installed completely? set ATOLL_LIBEXEC");
  }
  return pid;
}

}  // namespace

struct LauncherClient::Impl : std::enable_shared_from_this<LauncherClient::Impl> {
  explicit Impl(asio::any_io_executor where)
      : executor(std::move(where)), connected(executor), turns(executor, kMadeAtOnce) {}

  Task<> ensure_connected();
  Result<Fd> connect_or_start();
  Result<> start_keeper();
  Task<> read_loop(std::shared_ptr<asio::posix::stream_descriptor> from);
  Task<> greet();
  Task<Answer> request(Operation operation, std::string body, std::vector<Fd> descriptors);
  Task<Answer> exchange(Operation operation, std::string body, std::vector<Fd> descriptors);
  void on_packet(std::string_view bytes, std::vector<Fd> descriptors);
  void disconnect();
  void use(Fd fd);

  asio::any_io_executor executor;
  // It ends everything and leaves; waiting for it means that nothing is left when we are gone.
  void wait_for_its_end(std::chrono::milliseconds patience);

  bool is_embedded = false;
  bool is_silent = false;  // the embedded launcher has nobody to tell
  std::string libexec;
  uid_t uid = 0;
  gid_t gid = 0;
  Fd run_directory;
  std::string run_path;
  std::string socket_name = kLauncherSocket;
  bool is_served = false;  // others start it
  pid_t launcher = 0;      // embedded: our child
  bool has_left = false;   // and nothing of its sandboxes is left
  bool has_made = false;   // or tried to
  std::chrono::steady_clock::time_point keeper_started;

  std::shared_ptr<asio::posix::stream_descriptor> socket;  // shared with its read loop
  bool connecting = false;
  net::Event connected;
  FairTurns turns;  // of those who want a box
  LauncherHello greeting;
  uint32_t next_request = 1;
  uint64_t connections = 0;
  std::map<uint32_t, std::shared_ptr<Pending>> pending;
  std::vector<OnEnded> listeners;
};

LauncherClient::LauncherClient(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

LauncherClient::~LauncherClient() {
  impl_->disconnect();
  impl_->wait_for_its_end(kLeavePatience);
}

void LauncherClient::leave() {
  if (!impl_->is_embedded) return;
  impl_->disconnect();
  impl_->wait_for_its_end(kAnswerPatience);
}

void LauncherClient::Impl::wait_for_its_end(std::chrono::milliseconds patience) {
  if (!is_embedded || launcher == 0 || has_left) return;
  if (const auto process = os::open_pidfd(launcher)) {
    pollfd waited{process->get(), POLLIN, 0};
    while (poll(&waited, 1, static_cast<int>(patience.count())) < 0 && errno == EINTR) {
    }
  }
  has_left = waitpid(launcher, nullptr, WNOHANG) == launcher;
}

Result<std::unique_ptr<LauncherClient>> LauncherClient::kept(asio::any_io_executor executor,
                                                             KeptLauncher options) {
  if (mkdir(options.run_directory.c_str(), 0711) != 0 && errno != EEXIST) {
    return os_error("making the run directory", options.run_directory);
  }
  auto impl = std::make_shared<Impl>(std::move(executor));
  impl->libexec = std::move(options.libexec);
  impl->uid = options.uid;
  impl->gid = options.gid;
  TRY(impl->run_directory, os::open_at(AT_FDCWD, options.run_directory, O_RDONLY | O_DIRECTORY));
  impl->run_path = std::move(options.run_directory);
  return std::unique_ptr<LauncherClient>(new LauncherClient(std::move(impl)));
}

Result<std::unique_ptr<LauncherClient>> LauncherClient::served(asio::any_io_executor executor,
                                                               const std::string& socket) {
  auto impl = std::make_shared<Impl>(std::move(executor));
  const size_t slash = socket.rfind('/');
  if (slash == std::string::npos || slash + 1 == socket.size())
    return Error(Code::invalid_argument, "the launcher's socket needs a whole path");
  impl->is_served = true;
  impl->socket_name = socket.substr(slash + 1);
  impl->run_path = socket.substr(0, slash + 1);
  TRY(impl->run_directory, os::open_at(AT_FDCWD, impl->run_path, O_RDONLY | O_DIRECTORY));
  return std::unique_ptr<LauncherClient>(new LauncherClient(std::move(impl)));
}

Result<std::unique_ptr<LauncherClient>> LauncherClient::embedded(asio::any_io_executor executor,
                                                                 EmbeddedLauncher options) {
  auto impl = std::make_shared<Impl>(std::move(executor));
  impl->is_embedded = true;
  impl->is_silent = options.is_silent;
  impl->libexec = std::move(options.libexec);
  if (mkdir(options.base_directory.c_str(), 0711) != 0 && errno != EEXIST) {
    return os_error("making", options.base_directory);
  }
  TRY(auto base,
      os::open_at(AT_FDCWD, options.base_directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat info{};
  if (fstat(base.get(), &info) != 0) return os_error("looking at", options.base_directory);
  if (info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return Error(Code::permission_denied,
                 options.base_directory + " belongs to somebody else, or others may write to it");
  }
  // While the base is locked no other run mistakes our directory, not locked yet, for one whose
  // owner was killed.
  if (flock(base.get(), LOCK_EX) != 0) return os_error("locking", options.base_directory);
  impl->run_path = options.base_directory + "/run-XXXXXX";
  if (mkdtemp(impl->run_path.data()) == nullptr) return os_error("making a run directory");
  chmod(impl->run_path.c_str(), 0711);
  TRY(impl->run_directory, os::open_at(AT_FDCWD, impl->run_path, O_RDONLY | O_DIRECTORY));
  if (flock(impl->run_directory.get(), LOCK_EX | LOCK_NB) != 0)
    return os_error("locking", impl->run_path);
  return std::unique_ptr<LauncherClient>(new LauncherClient(std::move(impl)));
}

bool LauncherClient::is_embedded() const { return impl_->is_embedded; }
const std::string& LauncherClient::run_path() const { return impl_->run_path; }
uint64_t LauncherClient::reconnects() const {
  return impl_->connections > 0 ? impl_->connections - 1 : 0;
}
void LauncherClient::subscribe(OnEnded on_ended) {
  impl_->listeners.push_back(std::move(on_ended));
}

Result<> LauncherClient::Impl::start_keeper() {
  TRY(auto log, os::open_at(run_directory.get(), kLauncherLog,
                            O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  // The child detaches the keeper and ends at once.
  TRY(auto pid,
      spawn_launcher(libexec + "/atoll-launcher",
                     {"atoll-launcher", "--keep", std::to_string(uid), std::to_string(gid)},
                     {run_directory.get()}, log.get()));
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

Result<Fd> LauncherClient::Impl::connect_or_start() {
  if (is_embedded) {
    if (launcher != 0)
      return gone();  // its sandboxes are gone with it; there is nothing to go on with
    TRY(auto ends, os::socket_pair(os::SocketKind::packets));
    Fd nobody;
    if (is_silent) {
      TRY(nobody, os::open_at(AT_FDCWD, "/dev/null", O_WRONLY));
    }
    TRY(launcher,
        spawn_launcher(libexec + "/atoll-launcher", {"atoll-launcher", "--embedded"},
                       {run_directory.get(), ends.second.get()}, is_silent ? nobody.get() : 2));
    return std::move(ends.first);
  }
  auto there = os::connect_at(run_directory.get(), socket_name, os::SocketKind::packets);
  if (there) return there;
  if (is_served)
    return std::move(there).error().with_hint("systemctl status atoll-launcher.socket tells more");
  const int number = there.error().os_errno();
  if (number != ENOENT && number != ECONNREFUSED) return there;
  // A keeper that is there already has the lock, and then this is a no-op; yet no reason to try at
  // every look.
  const auto moment = std::chrono::steady_clock::now();
  if (moment - keeper_started < kStartPause) return there;
  keeper_started = moment;
  TRY_OK(start_keeper());
  return os::connect_at(run_directory.get(), socket_name, os::SocketKind::packets);
}

void LauncherClient::Impl::use(Fd fd) {
  socket = std::make_shared<asio::posix::stream_descriptor>(executor, fd.release());
  ++connections;
  spawn(executor, read_loop(socket));
}

Task<> LauncherClient::Impl::ensure_connected() {
  const auto self = shared_from_this();
  while (connecting) co_await connected.wait();
  if (socket) co_return Result<>();
  connecting = true;
  connected.reset();
  const auto give_up = std::chrono::steady_clock::now() + kConnectPatience;
  asio::steady_timer timer(executor);
  Result<> outcome;
  for (;;) {
    auto fd = connect_or_start();
    if (fd) {
      use(std::move(*fd));
      outcome = co_await greet();
      if (outcome || is_embedded) break;
    } else {
      outcome = std::move(fd).error();
    }
    const bool worth_waiting = !is_embedded && (outcome.error().code() == Code::unavailable ||
                                                outcome.error().code() == Code::not_found);
    if (!worth_waiting || std::chrono::steady_clock::now() > give_up) break;
    timer.expires_after(kConnectPause);
    boost::system::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  connecting = false;
  connected.set();
  if (!outcome) co_return std::move(outcome).error().with("reaching the launcher");
  co_return Result<>();
}

Task<> LauncherClient::Impl::greet() {
  CO_TRY(auto answer,
         co_await exchange(Operation::hello,
                           encode(LauncherHello{kLauncherVersion, ATOLL_VERSION, {}}), {}));
  CO_TRY(auto hello, decode_launcher_hello(answer.body));
  greeting = std::move(hello);
  co_return Result<>();
}

void LauncherClient::Impl::disconnect() {
  if (socket) {
    boost::system::error_code ignored;
    socket->close(ignored);
    socket.reset();
  }
  auto interrupted = std::move(pending);
  pending.clear();
  for (auto& [number, waiting] : interrupted) waiting->done.set();
}

Task<> LauncherClient::Impl::read_loop(std::shared_ptr<asio::posix::stream_descriptor> from) {
  const auto self = shared_from_this();
  std::vector<char> buffer(kLargestPacket);
  while (from->is_open()) {
    auto received = os::receive_some(from->native_handle(), buffer);
    if (received && received->bytes > 0) {
      on_packet({buffer.data(), received->bytes}, std::move(received->descriptors));
      continue;
    }
    if (received || received.error().os_errno() != EAGAIN) break;
    boost::system::error_code failure;
    co_await from->async_wait(asio::posix::stream_descriptor::wait_read,
                              asio::redirect_error(asio::use_awaitable, failure));
    if (failure) break;
  }
  if (socket == from) disconnect();
  co_return Result<>();
}

void LauncherClient::Impl::on_packet(std::string_view bytes, std::vector<Fd> descriptors) {
  auto packet = decode_packet(bytes);
  if (!packet) return;
  if (packet->request == 0) {
    if (packet->operation != Operation::ended) return;
    if (auto event = decode_ended(packet->body)) {
      for (const auto& listener : listeners) listener(*event);
    }
    return;
  }
  const auto found = pending.find(packet->request);
  if (found == pending.end()) return;
  const auto waiting = found->second;
  pending.erase(found);
  waiting->answer = Answer{packet->operation, std::string(packet->body), std::move(descriptors)};
  waiting->done.set();
}

Task<Answer> LauncherClient::Impl::exchange(Operation operation, std::string body,
                                            std::vector<Fd> descriptors) {
  const auto self = shared_from_this();
  const uint32_t number = next_request++ == 0 ? next_request++ : next_request - 1;
  const std::string packet = encode_packet(number, operation, body);
  if (packet.size() > kLargestPacket)
    co_return Error(Code::too_large, "a message to the launcher is too large");
  auto waiting = std::make_shared<Pending>(executor);
  pending[number] = waiting;
  std::vector<int> numbers;
  numbers.reserve(descriptors.size());
  for (const auto& descriptor : descriptors) numbers.push_back(descriptor.get());
  auto through = socket;
  for (int successors = 0;;) {
    const bool is_connected = through && through == socket;
    Result<size_t> sent = gone();
    if (is_connected) sent = os::send_some(through->native_handle(), packet, numbers);
    if (sent) break;
    if (!is_connected || sent.error().os_errno() != EAGAIN) {
      // The launcher died before it saw anything of this request, so that its successor can be
      // asked instead.
      if (is_connected) disconnect();
      pending.erase(number);
      if (operation == Operation::hello || ++successors > kMostSuccessors) co_return gone();
      CO_TRY_OK(co_await ensure_connected());
      through = socket;
      waiting = std::make_shared<Pending>(executor);
      pending[number] = waiting;
      continue;
    }
    boost::system::error_code failure;
    co_await through->async_wait(asio::posix::stream_descriptor::wait_write,
                                 asio::redirect_error(asio::use_awaitable, failure));
  }
  const bool in_time =
      co_await waiting->done.wait_until(std::chrono::steady_clock::now() + kAnswerPatience);
  pending.erase(number);
  if (!in_time && !waiting->answer)
    co_return Error(Code::deadline_exceeded, "the launcher did not answer in time");
  if (!waiting->answer) co_return gone();
  if (waiting->answer->operation == Operation::ok) co_return std::move(*waiting->answer);
  auto error = decode_launcher_error(waiting->answer->body);
  if (!error) co_return std::move(error).error();
  co_return std::move(*error);
}

Task<Answer> LauncherClient::Impl::request(Operation operation, std::string body,
                                           std::vector<Fd> descriptors) {
  const auto self = shared_from_this();
  CO_TRY_OK(co_await ensure_connected());
  co_return co_await exchange(operation, std::move(body), std::move(descriptors));
}

Task<LauncherHello> LauncherClient::hello() {
  const auto impl = impl_;
  CO_TRY_OK(co_await impl->ensure_connected());
  co_return impl->greeting;
}

Task<Fd> LauncherClient::create(std::string tenant, LaunchRequest request, Fd config,
                                std::vector<Fd> directories) {
  const auto impl = impl_;
  std::optional<FairTurns::Turn> turn;
  if (request.box) {
    auto taken = co_await impl->turns.take(std::move(tenant), kAnswerPatience);
    if (!taken) co_return std::move(taken).error().with("waiting for the launcher");
    turn.emplace(*std::move(taken));
  }
  CO_TRY_OK(co_await impl->ensure_connected());
  if (impl->greeting.version != kLauncherVersion) {
    co_return Error(Code::unavailable, "the launcher that runs is of another version: " +
                                           to_printable(impl->greeting.program_version))
        .with_hint("it leaves with its last sandbox: remove those that are left, or atoll down");
  }
  std::vector<Fd> descriptors;
  descriptors.push_back(std::move(config));
  for (auto& directory : directories) descriptors.push_back(std::move(directory));
  impl->has_made = true;
  CO_TRY(auto answer,
         co_await impl->request(Operation::create, encode(request), std::move(descriptors)));
  if (answer.descriptors.size() != 1)
    co_return Error(Code::internal, "the launcher sent no connection");
  co_return std::move(answer.descriptors[0]);
}

Task<Fd> LauncherClient::connect(std::string id) {
  const auto impl = impl_;
  std::vector<Fd> none;
  CO_TRY(auto answer, co_await impl->request(Operation::connect, encode_id(id), std::move(none)));
  if (answer.descriptors.size() != 1)
    co_return Error(Code::internal, "the launcher sent no connection");
  co_return std::move(answer.descriptors[0]);
}

Task<> LauncherClient::renew(RenewRequest request) {
  const auto impl = impl_;
  std::vector<Fd> none;
  CO_TRY_OK(co_await impl->request(Operation::renew, encode(request), std::move(none)));
  co_return Result<>();
}

Task<> LauncherClient::pause(std::string id) {
  const auto impl = impl_;
  std::vector<Fd> none;
  CO_TRY_OK(co_await impl->request(Operation::pause, encode_id(id), std::move(none)));
  co_return Result<>();
}

Task<> LauncherClient::resume(std::string id) {
  const auto impl = impl_;
  std::vector<Fd> none;
  CO_TRY_OK(co_await impl->request(Operation::resume, encode_id(id), std::move(none)));
  co_return Result<>();
}

Task<> LauncherClient::resize(ResizeRequest request) {
  const auto impl = impl_;
  std::vector<Fd> none;
  CO_TRY_OK(co_await impl->request(Operation::resize, encode(request), std::move(none)));
  co_return Result<>();
}

Task<> LauncherClient::destroy(std::string id) {
  const auto impl = impl_;
  std::vector<Fd> none;
  auto answer = co_await impl->request(Operation::destroy, encode_id(id), std::move(none));
  if (!answer && !impl->has_left) co_return std::move(answer).error();
  co_return Result<>();
}

Task<std::vector<LaunchedRow>> LauncherClient::list() {
  const auto impl = impl_;
  std::vector<LaunchedRow> all;
  // An embedded launcher begins with none, and makes none but ours.
  if (impl->is_embedded && !impl->has_made) co_return all;
  std::string after;
  for (;;) {
    std::vector<Fd> none;
    CO_TRY(auto answer, co_await impl->request(Operation::list, encode_id(after), std::move(none)));
    CO_TRY(auto rows, decode_rows(answer.body));
    const bool last = rows.size() < kListPage;
    if (!rows.empty()) after = rows.back().id;
    for (auto& row : rows) all.push_back(std::move(row));
    if (last) co_return all;
  }
}

Task<> LauncherClient::end_all() {
  const auto impl = impl_;
  std::vector<Fd> none;
  CO_TRY_OK(co_await impl->request(Operation::end_all, {}, std::move(none)));
  co_return Result<>();
}

}  // namespace atl::native
