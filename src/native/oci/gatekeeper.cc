#include "native/oci/gatekeeper.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "guest/refusal.h"
#include "native/agent_places.h"
#include "native/keeper_call.h"
#include "native/oci/box_files.h"
#include "native/oci/gate.h"
#include "native/oci/oci_config.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/socket.h"

namespace atl::native {
namespace {

constexpr auto kStartPatience = std::chrono::seconds(20);
constexpr int kToldPatienceMs = 60'000;
constexpr size_t kLargestFacts = 64 * 1024;
constexpr size_t kKeptMessages = 2048;
constexpr size_t kMostArriving = 64;

constexpr uint64_t bit(int capability) { return 1ULL << capability; }
// Inside: what it takes to start commands as others, to end them, and to own files for them.
constexpr uint64_t kInnerCapabilities = bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_SETPCAP) |
                                        bit(CAP_KILL) | bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) |
                                        bit(CAP_FOWNER) | bit(CAP_FSETID);
// Of the agent, which holds many more files open than any command may.
constexpr uint64_t kAgentOpenFiles = 16'384;

std::string kernel_name() {
  utsname name{};
  uname(&name);
  return std::string(name.release) + " " + name.version;
}

std::string json_of(const BoxFacts& facts) {
  OciConfig config;
  config.arguments = {kGatedAgent, kGateArgument};
  config.hostname = "sandbox";
  config.capabilities = kInnerCapabilities | facts.root_capabilities;
  config.open_files = kAgentOpenFiles;
  // Ours, or the runtime covers them with memory that no limit of the sandbox's counts as disk.
  for (const char* path : {"/tmp", "/dev/shm"}) config.binds.push_back({path});
  for (const auto& path : facts.shown) config.binds.push_back({path});
  return to_json(config);
}

// The type of the frame that comes after `preface` bytes, which stay; nothing before it is there.
// A connection that has closed is the agent's to find out.
std::optional<guest::FrameType> type_of_first(int socket, size_t preface) {
  std::array<char, kTokenBytes + guest::kFrameHeader> bytes;
  const size_t wanted = preface + guest::kFrameHeader;
  const ssize_t got = recv(socket, bytes.data(), wanted, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0) return guest::FrameType::hello;
  if (got < static_cast<ssize_t>(wanted)) return std::nullopt;
  return static_cast<guest::FrameType>(bytes[preface + guest::kFrameTypeAt]);
}

Result<Fd> pipe_with(const std::string& bytes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error("making a pipe");
  Fd read_end(ends[0]), write_end(ends[1]);
  TRY_OK(os::write_all(write_end.get(), bytes));
  return read_end;
}

}  // namespace

Gatekeeper::Gatekeeper(os::Poller poller, Fd signals)
    : poller_(std::move(poller)),
      signals_(std::move(signals)),
      connection_(kAgentConnection),
      listener_(kAgentListener),
      config_(kAgentConfig) {}

Result<std::unique_ptr<Gatekeeper>> Gatekeeper::create() {
  for (int fd = kAgentConnection; fd < 64; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  const Fd told(kAgentToken);
  TRY(auto token, os::read_open_file(told.get(), kLargestFacts));
  if (token.size() < kTokenBytes)
    return Error(Code::invalid_argument, "the agent's token is cut short");
  TRY(auto facts, decode_box_facts(std::string_view(token).substr(kTokenBytes)));
  token.resize(kTokenBytes);
  TRY(auto poller, os::Poller::create());
  TRY(auto signals, os::take_signals({{SIGCHLD}}));
  std::unique_ptr<Gatekeeper> keeper(new Gatekeeper(std::move(poller), std::move(signals)));
  keeper->facts_ = std::move(facts);
  keeper->token_ = std::move(token);
  if (auto opened = keeper->open(); !opened) {
    keeper->refuse(opened.error());
    return std::move(opened).error();
  }
  return keeper;
}

Result<> Gatekeeper::open() {
  // The launcher answers its client when limits are set, and the client speaks then.
  pollfd spoken{connection_.get(), POLLIN, 0};
  if (poll(&spoken, 1, kToldPatienceMs) <= 0 || (spoken.revents & POLLIN) == 0)
    return Error(Code::unavailable, "nobody wants the sandbox");
  TRY(const auto image, take_image());
  TRY_OK(write_bundle(json_of(facts_)));
  groups_.version = facts_.cgroup_version;
  int next = kBoxFirstDescriptor + (facts_.has_id_lock ? 1 : 0);
  for (size_t i = 0; i < facts_.work_roles.size(); ++i) groups_.work.emplace_back(next++);
  if (image) TRY_OK(unpack_box_files(image.get()));
  TRY_OK(start(image.get()));
  deadline_ = system_clock().boot() + (is_taken_up_ ? Micros(kTakeUpPatience) : kStartPatience);
  return poller_.add(signals_.get(), EPOLLIN, [this](uint32_t) { on_signal(); });
}

Result<Fd> Gatekeeper::take_image() {
  if (type_of_first(connection_.get(), 0) != guest::FrameType::take_up) return Fd();
  std::array<char, guest::kFrameHeader> call;
  TRY(auto received, os::receive_some(connection_.get(), call));
  if (received.bytes != call.size() || received.descriptors.size() != 1)
    return Error(Code::invalid_argument, "there is nothing to take up");
  is_taken_up_ = true;
  TRY_OK(check_can_be_kept(facts_));
  received.descriptors[0].move_up(kRuntimeAside);
  return std::move(received.descriptors[0]);
}

Result<> Gatekeeper::start(int image) {
  TRY(auto ends, os::socket_pair(os::SocketKind::packets));
  gate_ = std::move(ends.first);
  TRY(runtime_, start_runtime(groups_, ends.second, image));
  TRY_OK(hand_in());
  TRY_OK(poller_.add(runtime_.messages.get(), EPOLLIN, [this](uint32_t) { on_messages(); }));
  return poller_.add(gate_.get(), EPOLLIN, [this](uint32_t) { on_gate(); });
}

// Of cgroups, ids and copies the second kernel knows nothing.
Result<> Gatekeeper::hand_in() {
  BoxFacts inner = facts_;
  inner.has_id_lock = false;
  inner.cgroup_version = CgroupVersion::none;
  inner.work_roles.clear();
  inner.copies.clear();
  inner.outer_kernel = kernel_name();
  TRY(const auto told, pipe_with(token_ + encode(inner)));
  if (lseek(config_.get(), 0, SEEK_SET) != 0) return os_error("rewinding the configuration");
  std::vector<int> given{config_.get(), told.get()};
  if (connection_) given.push_back(connection_.get());
  TRY_OK(os::send_some(gate_.get(), kGateWord, given));
  return {};
}

void Gatekeeper::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
  }
  // As the first process of the box we are given everybody's orphans.
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != runtime_.pid) continue;
    ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
}

void Gatekeeper::on_gate() {
  std::array<char, 16> word;
  const auto received = os::receive_some(gate_.get(), word);
  if (!received && received.error().os_errno() == EAGAIN) return;
  if (!received || received->bytes == 0) {
    // The end of the runtime says the rest.
    poller_.remove(gate_.get());
    return;
  }
  if (deadline_ == Micros(0)) return;
  deadline_ = Micros(0);
  if (is_taken_up_) answer_keeper_call(connection_.get(), std::string());
  connection_.close();
  static_cast<void>(poller_.add(listener_.get(), EPOLLIN, [this](uint32_t) { take_connection(); }));
}

void Gatekeeper::on_messages() {
  std::array<char, 4096> buffer;
  const ssize_t got = read(runtime_.messages.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return poller_.remove(runtime_.messages.get());
  said_.append(buffer.data(), static_cast<size_t>(got));
  if (said_.size() > kKeptMessages) said_.erase(0, said_.size() - kKeptMessages);
}

void Gatekeeper::take_connection() {
  auto socket = os::accept_from(listener_);
  if (!socket) return;
  // Who says nothing makes room for the next.
  if (arriving_.size() >= kMostArriving) {
    poller_.remove(arriving_.begin()->first);
    arriving_.erase(arriving_.begin());
  }
  const int number = socket->get();
  // Told of once for all that has come, and not again and again until the rest is there.
  if (poller_.add(number, EPOLLIN | EPOLLET, [this, number](uint32_t) { on_arrived(number); }))
    arriving_.insert_or_assign(number, std::move(*socket));
}

void Gatekeeper::on_arrived(int number) {
  const auto type = type_of_first(number, kTokenBytes);
  if (!type) return;
  poller_.remove(number);
  const Fd connection = std::move(arriving_.extract(number).mapped());
  if (*type == guest::FrameType::keep) return on_keep(connection);
  const int given[] = {connection.get()};
  // Who comes while the agent takes nobody in finds the connection closed, and comes again.
  static_cast<void>(os::send_some(gate_.get(), kGateWord, given));
}

std::string Gatekeeper::what_was_said() const {
  const size_t first = said_.find_first_not_of(" \n");
  const size_t last = said_.find_last_not_of(" \n");
  if (first == std::string::npos) return "";
  return to_printable(std::string_view(said_).substr(first, last - first + 1));
}

void Gatekeeper::refuse(const Error& error) {
  std::string why = error.message();
  if (const std::string said = what_was_said(); !said.empty()) why += ": " + said;
  const Error refusal = Error(error.code(), std::move(why)).with_hint(error.hint());
  if (is_taken_up_) return answer_keeper_call(connection_.get(), refusal);
  guest::refuse_first_call(connection_.get(), refusal);
}

int Gatekeeper::run() {
  while (!ended_) {
    if (!poller_.wait(deadline_)) return 1;
    if (deadline_ > Micros(0) && system_clock().boot() >= deadline_) break;
  }
  if (deadline_ == Micros(0)) return status_;
  // It said its last words before it ended.
  on_messages();
  const char* const what =
      ended_ ? "runsc could not start the sandbox" : "runsc has not started the sandbox in time";
  refuse(Error(Code::unavailable, what).with_hint("atoll doctor gvisor looks for what is missing"));
  return 1;
}

}  // namespace atl::native
