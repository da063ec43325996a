#include "native/launcher/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/ids.h"
#include "native/agent_places.h"
#include "native/box_facts.h"
#include "native/launcher/box_maker.h"
#include "native/launcher/launcher_internal.h"
#include "native/launcher/leftovers.h"
#include "os/file.h"
#include "os/process.h"
#include "os/socket.h"

namespace atl::native {
namespace {

constexpr size_t kMostClients = 16;
constexpr rlim_t kSparedDescriptors = 8;  // one of so many, or sandboxes keep less of themselves
constexpr auto kEndingPatience = std::chrono::seconds(5);
constexpr auto kHeldPatience = std::chrono::milliseconds(50);  // before it is let go
constexpr auto kStartPatience = std::chrono::seconds(30);      // for the first client to come
constexpr auto kIdlePatience = std::chrono::seconds(1);

}  // namespace

Launcher::Launcher(LauncherOptions options, os::Poller poller, std::string boot_id)
    : options_(std::move(options)),
      poller_(std::move(poller)),
      boot_id_(std::move(boot_id)),
      idle_since_(now()) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  most_well_kept_ = limit.rlim_cur / kSparedDescriptors;
}

Launcher::~Launcher() = default;

Result<std::unique_ptr<Launcher>> Launcher::create(LauncherOptions options) {
  // What an agent that was killed leaves behind comes to us, if we still live, and is ended here.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  TRY(auto poller, os::Poller::create());
  TRY(auto boot, os::boot_id());
  std::unique_ptr<Launcher> launcher(
      new Launcher(std::move(options), std::move(poller), std::move(boot)));
  TRY(launcher->maker_, BoxMaker::create());
  TRY(launcher->starter_, BoxStarter::create());
  TRY_OK(launcher->poller_.add(launcher->starter_->done(), EPOLLIN,
                               [raw = launcher.get()](uint32_t) { raw->on_started(); }));
  if (launcher->options_.life == LauncherLife::kept) TRY_OK(launcher->wait_for_predecessor());
  TRY_OK(launcher->open_run_directory());
  TRY_OK(launcher->watch_signals());
  launcher->take_up_all();
  if (launcher->maker_->pool().has_sandboxes()) {
    if (auto started = launcher->start_pool(); !started) log(started.error().message());
  }
  if (launcher->options_.life == LauncherLife::embedded) {
    reclaim_abandoned_runs(launcher->options_.run_directory.get(),
                           [&](const std::string& id) { launcher->remove_cgroups(id); });
    launcher->add_client(std::move(launcher->options_.client), launcher->options_.identity);
  } else {
    TRY_OK(launcher->listen());
  }
  return launcher;
}

Result<> Launcher::wait_for_predecessor() {
  // Opened anew: the inherited descriptor, and with it a lock on it, is shared with the keeper.
  TRY(lock_, os::open_at(options_.run_directory.get(), ".", O_RDONLY | O_DIRECTORY));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  while (flock(lock_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return os_error("locking the run directory");
  }
  // Whoever had us started was served by the other one, and need not come.
  had_client_ = true;
  idle_since_ = now();
  return {};
}

Result<> Launcher::open_run_directory() {
  const int run = options_.run_directory.get();
  // 0711: a sandbox must reach its own workspace by path, and learn nothing of the others' names on
  // the way.
  if (auto made = os::make_directory(run, kSandboxesDirectory, 0711);
      !made && made.error().os_errno() != EEXIST) {
    return made;
  }
  TRY(boxes_directory_, os::open_at(run, kSandboxesDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  spares_.open(run);
  return {};
}

Result<> Launcher::watch_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  if (options_.listener) sigaddset(&mask, SIGTERM);
  if (sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return os_error("blocking signals");
  signal(SIGPIPE, SIG_IGN);
  signals_ = Fd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return os_error("making a signalfd");
  return poller_.add(signals_.get(), EPOLLIN, [this](uint32_t) {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTERM) leave();
    }
    // Agents are reaped when their pidfd says so; everything else is collected here.
    siginfo_t ended{};
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
      const pid_t pid = ended.si_pid;
      const auto box = std::ranges::find_if(
          boxes_, [&](const auto& b) { return b.second->is_child && b.second->is_agent(pid); });
      if (box != boxes_.end()) {
        const std::string id = box->first;
        on_agent_ended(id);
      } else {
        waitpid(pid, nullptr, WNOHANG);
        if (workers_.contains(pid)) {
          on_worker_ended(pid);
        } else {
          kill_inherited();  // what it left has come to us in turn
        }
      }
      ended.si_pid = 0;
    }
  });
}

void Launcher::take_up_all() {
  for (const auto& name : os::names_in(boxes_directory_.get())) {
    if (auto taken = take_up(name); !taken) {
      // Half made, ended, or of an earlier boot: nothing of it may stay.
      log("removing what is left of " + name + ": " + taken.error().message());
      kill_stragglers(name);
      if (is_sandbox_id(name)) remove_cgroups(name);
      remove_directory(name);
    }
  }
}

void Launcher::remove_cgroups(const std::string& id) {
  auto cgroups = maker_->find_cgroups(id);
  auto removed = cgroups ? cgroups->remove() : Result<>(cgroups.error());
  if (!removed) log("removing the cgroups of " + id + ": " + removed.error().message());
}

Result<> Launcher::take_up(const std::string& id) {
  if (!is_sandbox_id(id)) return Error(Code::invalid_argument, "not a sandbox's directory");
  auto box = std::make_unique<Box>();
  TRY(const auto directory, open_directory(id));
  TRY(box->record, load_record(directory.get()));
  if (box->record.id != id || box->record.boot_id != boot_id_) {
    return Error(Code::not_found, "its record is of an earlier boot");
  }
  TRY(box->pidfd, os::open_pidfd(box->record.pid, box->record.start_ticks));
  box->pidfd.move_up(kNotForChildren);
  if (box->record.boxed) {
    TRY(box->cgroups, maker_->find_cgroups(id));
    if (!box->cgroups.holds(box->record.pid))
      return Error(Code::not_found, "another process has its agent's pid");
    maker_->adopt(box->record);
  }
  TRY_OK(poller_.add(box->pidfd.get(), EPOLLIN, [this, id](uint32_t) { on_agent_ended(id); }));
  expect_deadline(box->record.expires_at);
  boxes_[id] = std::move(box);
  return {};
}

Result<> Launcher::listen() {
  if (options_.listener) {
    listener_ = std::move(options_.listener);
    return accept_from_listener();
  }
  TRY(listener_,
      os::listen_at(options_.run_directory.get(), kLauncherSocket, os::SocketKind::packets, 0600));
  if (geteuid() == 0 && options_.identity.uid != 0 &&
      fchownat(options_.run_directory.get(), kLauncherSocket, options_.identity.uid,
               options_.identity.gid, 0) != 0) {
    return os_error("handing over the launcher's socket");
  }
  return accept_from_listener();
}

Result<> Launcher::accept_from_listener() {
  return poller_.add(listener_.get(), EPOLLIN, [this](uint32_t) {
    auto socket = os::accept_from(listener_);
    if (!socket) return;
    auto peer = os::peer_of(socket->get());
    const bool allowed = peer && (peer->uid == options_.identity.uid || peer->uid == 0);
    if (allowed && clients_.size() < kMostClients)
      add_client(std::move(*socket), {peer->uid, peer->gid});
  });
}

void Launcher::add_client(Fd socket, Identity peer) {
  had_client_ = true;
  auto client = std::make_unique<Client>();
  client->socket = std::move(socket);
  client->peer = peer;
  Client* const added = client.get();
  if (poller_.add(added->socket.get(), EPOLLIN, [this, added](uint32_t) { on_client(*added); })) {
    clients_.push_back(std::move(client));
  }
}

void Launcher::on_client(Client& client) {
  std::array<char, kLargestPacket> buffer;
  auto received = os::receive_some(client.socket.get(), buffer);
  if (!received && received.error().os_errno() == EAGAIN) return;
  if (!received || received->bytes == 0) {
    client.closed = true;
    poller_.remove(client.socket.get());
    return;
  }
  auto packet = decode_packet({buffer.data(), received->bytes});
  if (!packet) {
    client.closed = true;
    poller_.remove(client.socket.get());
    return;
  }
  if (auto handled = handle(client, *packet, std::move(received->descriptors)); !handled) {
    answer(client, packet->request, Operation::error, encode_launcher_error(handled.error()));
  }
}

Result<> Launcher::handle(Client& client, const Packet& packet, std::vector<Fd> descriptors) {
  if (!client.greeted && packet.operation != Operation::hello) {
    return Error(Code::invalid_argument, "the first message must be a hello");
  }
  switch (packet.operation) {
    case Operation::hello: {
      const uint32_t version = decode_client_version(packet.body);
      if (version < 1) return Error(Code::unsupported, "unknown launcher protocol");
      client.greeted = true;
      const LauncherHello reply{std::min(version, kLauncherVersion), ATOLL_VERSION,
                                maker_->support()};
      answer(client, packet.request, Operation::ok, encode(reply));
      // Who has started us is about to ask for a sandbox.
      if (options_.life == LauncherLife::embedded && reply.boxes.available) maker_->look_at_host();
      return {};
    }
    case Operation::create: {
      TRY(auto launch, decode_launch(packet.body));
      return create_box(client, packet.request, launch, std::move(descriptors));
    }
    case Operation::connect: {
      TRY(auto id, decode_id(packet.body));
      return connect_box(client, packet.request, id);
    }
    case Operation::renew: {
      TRY(auto renewal, decode_renew(packet.body));
      TRY(Box * box, find_box(renewal.id));
      box->record.expires_at = Micros(static_cast<int64_t>(renewal.expires_at_us));
      expect_deadline(box->record.expires_at);
      TRY(const auto directory, open_directory(renewal.id));
      TRY_OK(save_record(directory.get(), box->record));
      answer(client, packet.request, Operation::ok, {});
      return {};
    }
    case Operation::pause:
    case Operation::resume: {
      TRY(auto id, decode_id(packet.body));
      TRY(Box * box, find_box(id));
      box->was_paused = true;
      TRY_OK(box->cgroups.freeze(packet.operation == Operation::pause));
      answer(client, packet.request, Operation::ok, {});
      return {};
    }
    case Operation::resize: {
      TRY(auto resize, decode_resize(packet.body));
      TRY(Box * box, find_box(resize.id));
      TRY_OK(box->cgroups.set_limits(resize.limits));
      answer(client, packet.request, Operation::ok, {});
      return {};
    }
    case Operation::destroy: {
      TRY(auto id, decode_id(packet.body));
      drop_waiting(id);
      const auto found = boxes_.find(id);
      if (found == boxes_.end()) {
        answer(client, packet.request, Operation::ok, {});
        return {};
      }
      destroy_box(&client, packet.request, *found->second);
      return {};
    }
    case Operation::list: {
      TRY(auto after, decode_id(packet.body));
      std::vector<LaunchedRow> rows;
      for (auto it = boxes_.upper_bound(after); it != boxes_.end() && rows.size() < kListPage;
           ++it) {
        rows.push_back({it->first, it->second->record.driver, !it->second->ending});
      }
      answer(client, packet.request, Operation::ok, encode(rows));
      return {};
    }
    case Operation::end_all: {
      drop_waiting("");
      std::vector<Box*> all;
      all.reserve(boxes_.size());
      for (auto& [id, box] : boxes_) all.push_back(box.get());
      for (Box* box : all) destroy_box(nullptr, 0, *box);
      answer(client, packet.request, Operation::ok, {});
      return {};
    }
    default:
      return Error(Code::invalid_argument, "an operation that only the launcher sends");
  }
}

Result<Launcher::Box*> Launcher::find_box(const std::string& id) {
  const auto found = boxes_.find(id);
  if (found == boxes_.end() || found->second->ending)
    return Error(Code::not_found, "no sandbox " + id);
  return found->second.get();
}

Result<Fd> Launcher::open_directory(const std::string& id) {
  return os::open_at(boxes_directory_.get(), id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<> Launcher::connect_box(Client& client, uint32_t request, const std::string& id) {
  TRY(Box * box, find_box(id));
  TRY(const auto directory, open_directory(id));
  TRY(auto socket, os::connect_at(directory.get(), kAgentSocket, os::SocketKind::stream));
  TRY(auto sent, os::send_some(socket.get(), box->record.token));
  if (sent != kTokenBytes)
    return Error(Code::internal, "the agent's socket does not take the token");
  answer(client, request, Operation::ok, {}, socket.get());
  return {};
}

void Launcher::destroy_box(Client* client, uint32_t request, Box& box) {
  if (client != nullptr) box.waiters.push_back({client, request});
  begin_ending(box);
}

void Launcher::begin_ending(Box& box) {
  if (box.ending) return;
  box.ending = true;
  box.kill_at = now() + (box.record.boxed ? Micros(kHeldPatience) : Micros(kEndingPatience));
  expect_deadline(box.kill_at);
  if (box.was_paused || !box.is_child) box.cgroups.let_die();
  // The first process of a pid namespace takes all others along; elsewhere the agent ends them.
  static_cast<void>(os::send_signal(box.pidfd, box.record.boxed ? SIGKILL : SIGTERM));
}

void Launcher::on_agent_ended(const std::string& id) {
  const auto found = boxes_.find(id);
  if (found == boxes_.end() || !found->second->pidfd) return;
  Box& box = *found->second;
  poller_.remove(box.pidfd.get());
  box.pidfd.close();
  bool left_nothing = false;
  if (box.is_child) {
    int status = 0;
    left_nothing = waitpid(box.record.pid, &status, WNOHANG) == box.record.pid &&
                   WIFEXITED(status) && WEXITSTATUS(status) == kAgentLeftNothing;
  }
  EndCause cause = EndCause::death;
  if (box.cgroups) {
    if (box.is_sentry && box.cgroups.lacked_memory()) cause = EndCause::memory;
    // With the first process of its pid namespace the kernel has ended all others.
    if (auto removed = box.cgroups.remove(); !removed) {
      log("removing the cgroups of " + id + ": " + removed.error().message());
    }
  }
  if (auto released = maker_->release(id, box.ids, std::move(box.network)); !released)
    log(released.error().message());
  if (!left_nothing && !box.record.boxed) {
    kill_stragglers(id);
    kill_inherited();
  }
  if (is_leaving_) {
    tell_all({id, EndCause::death});
  } else if (!box.ending) {
    // With a client that leaves its connections end, too, and an agent may see that before we do.
    if (options_.life != LauncherLife::embedded || !left_nothing)
      log("the agent of " + id + (cause == EndCause::memory ? " was out of memory" : " died"));
    tell_all({id, cause});
  } else if (box.expired) {
    tell_all({id, EndCause::expiry});
  }
  box.ending = true;
  box.kill_at = Micros(0);
  remove_box(box);
}

// As a subreaper we are given the children of an agent that was killed. They are found here even if
// they shed their mark, or were just being executed when somebody looked for it.
void Launcher::kill_inherited() {
  // A control of the security suite wants to see what lives on without the kernel's help.
  if (maker_->without().has(Layer::pid_namespace)) return;
  // What is just being started is a child of ours, too, and nobody knows it yet.
  if (making_) {
    has_inherited_ = true;
    return;
  }
  for (const auto& process : os::all_processes()) {
    if (process.parent != getpid() || process.state == 'Z' || workers_.contains(process.pid))
      continue;
    const auto is_agent = [&](const auto& box) { return box.second->is_agent(process.pid); };
    if (std::ranges::none_of(boxes_, is_agent)) kill(process.pid, SIGKILL);
  }
}

void Launcher::remove_box(Box& box) {
  const auto opened = open_directory(box.record.id);
  const int directory = opened ? opened->get() : -1;
  unlinkat(directory, kAgentSocket, 0);
  // Nobody in a box ever saw its directory.
  if (box.record.boxed && spares_.keep(boxes_directory_.get(), box.record.id)) return finish(box);
  // Usually both are empty, and then there is nothing to wait for.
  const bool simple = (unlinkat(directory, kWork, AT_REMOVEDIR) == 0 || errno == ENOENT) &&
                      (unlinkat(directory, kTemporary, AT_REMOVEDIR) == 0 || errno == ENOENT) &&
                      (unlinkat(directory, kRecordFile, 0) == 0 || errno == ENOENT) &&
                      unlinkat(boxes_directory_.get(), box.record.id.c_str(), AT_REMOVEDIR) == 0;
  if (simple) {
    finish(box);
  } else {
    remove_directory(box.record.id);
  }
}

// A large tree takes its time, so a child does it while we go on serving.
void Launcher::remove_directory(const std::string& id) {
  const pid_t worker = fork();
  if (worker == 0) {
    auto removed = os::remove_tree(boxes_directory_.get(), id);
    if (!removed) log("removing " + id + ": " + removed.error().message());
    _exit(removed ? 0 : 1);
  }
  if (worker > 0) {
    workers_[worker] = id;
  } else {
    log("cannot fork to remove " + id);
    if (const auto found = boxes_.find(id); found != boxes_.end()) finish(*found->second);
  }
}

void Launcher::on_worker_ended(pid_t worker) {
  const auto found = workers_.find(worker);
  const std::string id = found->second;
  workers_.erase(found);
  if (const auto box = boxes_.find(id); box != boxes_.end()) finish(*box->second);
}

void Launcher::finish(Box& box) {
  for (const auto& waiter : box.waiters) answer(*waiter.client, waiter.request, Operation::ok, {});
  boxes_.erase(box.record.id);
  idle_since_ = now();
  if (boxes_.empty()) spares_.clear();
}

void Launcher::answer(Client& client, uint32_t request, Operation operation, std::string_view body,
                      int descriptor) {
  if (client.closed) return;
  const std::string packet = encode_packet(request, operation, body);
  const int descriptors[] = {descriptor};
  auto sent =
      os::send_some(client.socket.get(), packet,
                    descriptor >= 0 ? std::span<const int>(descriptors) : std::span<const int>());
  if (!sent) {
    // A client that does not read its answers cannot be served; it connects again and asks what
    // there is.
    if (sent.error().os_errno() != EPIPE) log("dropping a client: " + sent.error().message());
    client.closed = true;
    poller_.remove(client.socket.get());
  }
}

void Launcher::tell_all(const EndedEvent& event) {
  for (auto& client : clients_) {
    if (client->greeted) answer(*client, 0, Operation::ended, encode(event));
  }
}

void Launcher::expect_deadline(Micros at) {
  if (at.count() > 0 && (soonest_.count() == 0 || at < soonest_)) soonest_ = at;
}

Micros Launcher::next_deadline() const {
  Micros next = soonest_;
  const auto consider = [&](Micros at) {
    if (at.count() > 0 && (next.count() == 0 || at < next)) next = at;
  };
  if (pool_answer_) consider(pool_deadline_);
  if (boxes_.empty() && clients_.empty()) {
    consider(idle_since_ + (had_client_ ? Micros(kIdlePatience) : Micros(kStartPatience)));
  }
  return next;
}

void Launcher::act_on_deadlines() {
  const Micros moment = now();
  if (pool_answer_ && pool_deadline_ <= moment) on_pool_answer();
  if (soonest_.count() == 0 || soonest_ > moment) return;
  soonest_ = Micros(0);
  for (auto& [id, box] : boxes_) {
    if (box->ending) {
      if (box->kill_at.count() > 0 && box->kill_at <= moment && box->pidfd) {
        // The agent itself may have held a command back.
        box->cgroups.let_die();
        if (!box->record.boxed || std::exchange(box->is_late, true))
          log("the agent of " + id + " does not end; killing it");
        box->kill_at = moment + kEndingPatience;
        static_cast<void>(os::send_signal(box->pidfd, SIGKILL));
      }
    } else if (box->record.expires_at.count() > 0 && box->record.expires_at <= moment) {
      box->expired = true;
      begin_ending(*box);
    }
    expect_deadline(box->ending ? box->kill_at : box->record.expires_at);
  }
}

void Launcher::leave() {
  if (std::exchange(is_leaving_, true)) return;
  poller_.remove(listener_.get());
  listener_.close();
  drop_waiting("");
  for (auto& [id, box] : boxes_) begin_ending(*box);
}

bool Launcher::is_done() const {
  if (!boxes_.empty() || !workers_.empty() || making_) return false;
  if (is_leaving_) return true;
  if (!clients_.empty()) return false;
  const auto patience = had_client_ ? Micros(kIdlePatience) : Micros(kStartPatience);
  return options_.life == LauncherLife::embedded || now() >= idle_since_ + patience;
}

Result<> Launcher::run() {
  while (!is_done()) {
    TRY_OK(poller_.wait(next_deadline()));
    act_on_deadlines();
    for (auto it = clients_.begin(); it != clients_.end();) {
      if (!(*it)->closed) {
        ++it;
        continue;
      }
      for (auto& [id, box] : boxes_) {
        std::erase_if(box->waiters, [&](const auto& waiter) { return waiter.client == it->get(); });
      }
      std::erase_if(waiting_, [&](const auto& one) { return one.client == it->get(); });
      for (Making* const making : {making_.get(), prepared_.get()}) {
        if (making != nullptr && making->client == it->get()) making->client = nullptr;
      }
      it = clients_.erase(it);
      idle_since_ = now();
      if (options_.life == LauncherLife::embedded) {
        for (auto& [id, box] : boxes_) begin_ending(*box);
      }
    }
  }
  const int run = options_.run_directory.get();
  unlinkat(run, kSandboxesDirectory, AT_REMOVEDIR);
  spares_.clear();
  unlinkat(run, kPoolFile, 0);
  if (options_.life == LauncherLife::kept) {
    unlinkat(run, kLauncherSocket, 0);
  } else if (auto path = os::path_of(run)) {
    rmdir(path->c_str());
  }
  return {};
}

}  // namespace atl::native
