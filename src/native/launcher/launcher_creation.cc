// How the launcher makes sandboxes: requests wait for the storage pool and for each other here.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/ids.h"
#include "native/agent_places.h"
#include "native/box_facts.h"
#include "native/launcher/launcher_internal.h"
#include "os/file.h"
#include "os/process.h"
#include "os/socket.h"

namespace atl::native {
namespace {

constexpr size_t kMostBoxes = 20'000;
constexpr size_t kMostWaiting = 1024;
constexpr auto kPoolPatience = std::chrono::seconds(30);

Result<> check(const LaunchRequest& launch, const std::vector<Fd>& descriptors) {
  if (!is_sandbox_id(launch.id)) return Error(Code::invalid_argument, "a malformed sandbox id");
  if (launch.driver.empty() || launch.driver.size() > 32)
    return Error(Code::invalid_argument, "a malformed driver name");
  const size_t expected = launch.box
                              ? 1 + (launch.box->has_root ? 1 : 0) + launch.box->directories.size()
                              : 1 + (launch.has_workspace ? 1 : 0) + launch.mounts;
  if (launch.mounts > kMostMounts || descriptors.size() != expected) {
    return Error(Code::invalid_argument, "the descriptors do not fit the request");
  }
  for (size_t i = 1; i < descriptors.size(); ++i) {
    struct stat info{};
    if (fstat(descriptors[i].get(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      return Error(Code::invalid_argument, "a mount is not a directory");
    }
  }
  return {};
}

}  // namespace

void log(const std::string& message) {
  std::fprintf(stderr, "atoll-launcher: %s\n", message.c_str());
}

Result<> Launcher::create_box(Client& client, uint32_t request, LaunchRequest launch,
                              std::vector<Fd> descriptors) {
  TRY_OK(check(launch, descriptors));
  // A daemon replaces each parked sandbox that ends. Obeyed, it would keep us here for ever.
  if (is_leaving_) {
    return Error(Code::unavailable, "the launcher is being stopped")
        .with_hint("it serves again when its service is started");
  }
  const auto waits = [&](const Waiting& one) { return one.launch.id == launch.id; };
  if (boxes_.contains(launch.id) || std::ranges::any_of(waiting_, waits) ||
      is_being_made(launch.id)) {
    return Error(Code::already_exists, "sandbox " + launch.id + " exists");
  }
  if (boxes_.size() >= kMostBoxes || waiting_.size() >= kMostWaiting)
    return Error(Code::resource_exhausted, "too many sandboxes on this host");
  if (needs_pool(launch)) TRY_OK(start_pool());
  waiting_.push_back({&client, request, std::move(launch), std::move(descriptors)});
  serve_waiting();
  return {};
}

bool Launcher::needs_pool(const LaunchRequest& launch) const {
  return launch.box && launch.box->storage == Storage::pool && !maker_->pool().is_open();
}

bool Launcher::is_being_made(const std::string& id) const {
  const auto is_it = [&](const auto& making) { return making && making->box->record.id == id; };
  return is_it(making_) || is_it(prepared_);
}

// A sandbox without namespaces is started at once; of the others one at a time, and meanwhile the
// next one is prepared, so that making sandboxes keeps two processors busy.
void Launcher::serve_waiting() {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (needs_pool(it->launch) || (it->launch.box && prepared_)) {
      ++it;
      continue;
    }
    Waiting one = std::move(*it);
    it = waiting_.erase(it);
    const int boxes = boxes_directory_.get();
    auto begun = one.launch.box ? spares_.make(boxes, one.launch.id)
                                : os::make_directory(boxes, one.launch.id, 0711);
    if (begun) {
      begun = begin_box(one);
      if (!begun) {
        static_cast<void>(maker_->pool().remove(one.launch.id));
        remove_directory(one.launch.id);
      }
    }
    if (!begun)
      answer(*one.client, one.request, Operation::error, encode_launcher_error(begun.error()));
  }
}

Result<> Launcher::begin_box(Waiting& one) {
  const LaunchRequest& launch = one.launch;
  auto box = std::make_unique<Box>();
  TRY(box->directory, open_directory(launch.id));
  TRY(auto listener,
      os::listen_at(box->directory.get(), kAgentSocket, os::SocketKind::stream, 0600));
  TRY(auto ends, os::socket_pair(os::SocketKind::stream));
  box->record = {launch.id,
                 launch.driver,
                 boot_id_,
                 0,
                 0,
                 random_token(),
                 Micros(static_cast<int64_t>(std::min<uint64_t>(launch.expires_at_us, INT64_MAX))),
                 launch.box.has_value()};
  box->is_sentry = launch.box && launch.box->sentry;
  Making making{one.client, one.request, std::move(box), std::move(ends.first), nullptr};
  if (!launch.box) {
    TRY(auto agent,
        start_plain(*making.box, launch, one.descriptors, ends.second.get(), listener.get()));
    return end_box(std::move(making), std::move(agent));
  }
  BoxOrder order{launch.id,
                 *launch.box,
                 {},
                 one.client->peer,
                 launch.box->sentry ? options_.oci_program.get() : options_.program.get(),
                 std::move(ends.second),
                 std::move(listener),
                 std::move(one.descriptors[0]),
                 making.box->record.token};
  for (size_t i = 1; i < one.descriptors.size(); ++i)
    order.directories.push_back(std::move(one.descriptors[i]));
  if (const int home = maker_->network_to_make(); home >= 0) starter_->make_network(home);
  TRY(making.parts, maker_->begin(std::move(order)));
  prepared_ = std::make_unique<Making>(std::move(making));
  if (!making_) start_prepared();
  return {};
}

void Launcher::start(std::unique_ptr<Making> making) {
  making_ = std::move(making);
  starter_->start(making_->parts->launch);
}

void Launcher::start_prepared() {
  if (prepared_) start(std::move(prepared_));
}

void Launcher::on_started() {
  if (!starter_->is_busy()) return;
  auto started = starter_->take();
  Making making = std::move(*std::exchange(making_, nullptr));
  const std::string id = making.box->record.id;
  // Strays are looked for while nothing is being started.
  if (!has_inherited_) start_prepared();
  auto again = maker_->end(*making.parts, std::move(started));
  if (again && *again) {
    auto same = std::make_unique<Making>(std::move(making));
    if (making_) {
      prepared_ = std::move(same);
    } else {
      start(std::move(same));
    }
    return;
  }
  Client* const client = making.client;
  const uint32_t request = making.request;
  auto ended = again ? Result<>() : Result<>(again.error());
  if (ended) {
    MadeBox& made = making.parts->box;
    making.box->cgroups = std::move(made.cgroups);
    making.box->ids = std::move(made.ids);
    making.box->network = std::move(made.network);
    making.box->record.processors = std::move(made.processors);
    making.box->record.pool_bytes = made.pool_bytes;
    auto agent = std::move(made.agent);
    ended = end_box(std::move(making), std::move(agent));
  }
  if (!ended) {
    static_cast<void>(maker_->pool().remove(id));
    remove_directory(id);
    if (client != nullptr)
      answer(*client, request, Operation::error, encode_launcher_error(ended.error()));
  }
  if (std::exchange(has_inherited_, false)) {
    kill_inherited();
    start_prepared();
  }
  serve_waiting();
}

// The agent runs: from here on the sandbox is one of ours.
Result<> Launcher::end_box(Making making, StartedAgent agent) {
  auto box = std::move(making.box);
  box->record.pid = agent.pid;
  box->pidfd = std::move(agent.pidfd);
  box->is_child = true;
  const auto stat = os::find_process(agent.pid);
  box->record.start_ticks = stat ? stat->start_ticks : 0;
  const std::string id = box->record.id;
  // With so many the descriptors are needed for others. Its agent has the lock, too.
  if (boxes_.size() >= most_well_kept_) {
    box->network.close();
    box->ids.lock.close();
  }
  for (Fd* kept : {&box->pidfd, &box->ids.lock, &box->network}) kept->move_up(kNotForChildren);
  auto watched =
      poller_.add(box->pidfd.get(), EPOLLIN, [this, id](uint32_t) { on_agent_ended(id); });
  auto saved = watched ? save_record(box->directory.get(), box->record) : watched;
  if (!saved) {
    if (watched) poller_.remove(box->pidfd.get());
    static_cast<void>(os::send_signal(box->pidfd, SIGKILL));
    waitpid(agent.pid, nullptr, 0);
    static_cast<void>(box->cgroups.remove());
    static_cast<void>(maker_->release(id, box->ids, std::move(box->network)));
    return saved;
  }
  box->directory.close();
  expect_deadline(box->record.expires_at);
  Box& kept = *(boxes_[id] = std::move(box));
  if (making.client == nullptr) {
    begin_ending(kept);
  } else {
    answer(*making.client, making.request, Operation::ok, {}, making.client_end.get());
  }
  return {};
}

Result<> Launcher::start_pool() {
  if (pool_answer_) return {};
  TRY(auto worker, start_pool_worker(options_.pool_program.get()));
  pool_worker_ = worker.pid;
  pool_answer_ = std::move(worker.answer);
  workers_[pool_worker_] = "";
  pool_deadline_ = now() + kPoolPatience;
  return poller_.add(pool_answer_.get(), EPOLLIN, [this](uint32_t) { on_pool_answer(); });
}

// Also when there is none: the worker has died, or its time is up.
void Launcher::on_pool_answer() {
  std::array<char, 4096> buffer;
  auto received = os::receive_some(pool_answer_.get(), buffer);
  poller_.remove(pool_answer_.get());
  pool_answer_.close();
  if (workers_.contains(pool_worker_)) kill(pool_worker_, SIGKILL);
  auto opened = received ? maker_->pool().open({buffer.data(), received->bytes},
                                               std::move(received->descriptors))
                         : Error(Code::deadline_exceeded, "opening the storage pool takes too long")
                               .with_hint("is the host's disk in order? dmesg tells");
  if (!opened) log(opened.error().message());
  if (!opened) {
    std::erase_if(waiting_, [&](const Waiting& one) {
      if (!needs_pool(one.launch)) return false;
      answer(*one.client, one.request, Operation::error, encode_launcher_error(opened.error()));
      return true;
    });
  }
  serve_waiting();
}

// Those that wait to become this sandbox; "" = all.
void Launcher::drop_waiting(const std::string& id) {
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (!id.empty() && one.launch.id != id) return false;
    const Error ended(Code::cancelled, "the sandbox was ended before it was made");
    answer(*one.client, one.request, Operation::error, encode_launcher_error(ended));
    return true;
  });
  // Who asked for it gets no answer but the sandbox's end.
  for (Making* const making : {making_.get(), prepared_.get()}) {
    if (making == nullptr || making->client == nullptr) continue;
    if (!id.empty() && making->box->record.id != id) continue;
    const Error ended(Code::cancelled, "the sandbox was ended before it was made");
    answer(*making->client, making->request, Operation::error, encode_launcher_error(ended));
    making->client = nullptr;
  }
}

// An agent on the host itself, confined as far as it confines its commands.
Result<StartedAgent> Launcher::start_plain(Box& box, const LaunchRequest& launch,
                                           std::vector<Fd>& descriptors, int connection,
                                           int listener) {
  const int directory = box.directory.get();
  for (const char* name : {kWork, kTemporary}) {
    TRY_OK(os::make_directory(directory, name, 0700));
    if (geteuid() == 0 && options_.identity.uid != 0 &&
        fchownat(directory, name, options_.identity.uid, options_.identity.gid,
                 AT_SYMLINK_NOFOLLOW) != 0) {
      return os_error("handing over the workspace");
    }
  }
  Fd workspace;
  if (launch.has_workspace) {
    workspace = std::move(descriptors[1]);
  } else {
    TRY(workspace, os::open_at(directory, kWork, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }
  TRY(auto temporary, os::open_at(directory, kTemporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  TRY(auto token, told_pipe(box.record.token, BoxFacts{}));
  AgentDescriptors places{connection,  listener,        descriptors[0].get(),
                          token.get(), workspace.get(), temporary.get(),
                          {}};
  for (size_t i = descriptors.size() - launch.mounts; i < descriptors.size(); ++i)
    places.mounts.push_back(descriptors[i].get());
  return start_agent(options_.program.get(), places, options_.identity);
}

}  // namespace atl::native
