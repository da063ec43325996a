#include "container/checkpoints.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/ids.h"
#include "base/text.h"
#include "container/agent_door.h"
#include "container/checkpoint_archive.h"
#include "container/json_at_internal.h"
#include "container/kernel_trial.h"
#include "os/file.h"
#include "telemetry/log.h"

namespace atl::container {
namespace {

// What a sandbox of many gigabytes takes.
constexpr Millis kWritePatience = std::chrono::minutes(10);
constexpr Millis kSilence = std::chrono::minutes(1);
constexpr auto kTryAgain = std::chrono::minutes(10);
constexpr std::string_view kTrialKind = "memory";
constexpr size_t kPiece = 256 * 1024;
constexpr const char* kFile = "memory.tar";
constexpr size_t kLargestTrial = 64 << 20;
constexpr size_t kLargestAnswer = 64 << 10;
constexpr size_t kLargestLog = 8 << 20;
constexpr size_t kLongestReason = 300;

struct Export {
  std::shared_ptr<Fleet> fleet;
  std::string container;
  std::function<void()> on_written;
  std::unique_ptr<net::ClientCall> call;
};

std::string word_after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + mark.size());
  return std::string(text.substr(0, text.find_first_of(" :\n`")));
}

// The engine names a file of its own on this host, in which CRIU tells what it could not do.
std::string words_of_criu(std::string_view message) {
  std::string path = word_after(message, "log file: ");
  if (path.empty()) path = word_after(message, "--work-path ") + "/dump.log";
  const auto log = os::read_file(AT_FDCWD, path, kLargestLog);
  if (!log) return "";
  std::string reason;
  for (const auto& line : split(*log, '\n')) {
    const size_t at = line.find("Error (");
    const size_t said = at == std::string::npos ? at : line.find("): ", at);
    if (said == std::string::npos) continue;
    // The last ones are that it has failed.
    if (has_word(line, "FAILED") || has_word(line, "failed with -1")) continue;
    reason = line.substr(said + 3);
  }
  return to_printable(reason.substr(0, kLongestReason));
}

Error in_words(const Dialect& dialect, const Error& error, std::string_view what) {
  if (error.code() == Code::out_of_space || error.code() == Code::unavailable ||
      error.code() == Code::deadline_exceeded || error.code() == Code::already_exists)
    return error;
  const std::string reason = words_of_criu(error.message());
  return Error(Code::conflict, std::string(dialect.name) + " could not " + std::string(what) +
                                   ": " +
                                   (reason.empty() ? error.message() : "CRIU says: " + reason))
      .with_hint(
          "CRIU cannot keep everything that a process may have open; its log and the "
          "engine's tell more");
}

Task<std::string> next_exported(std::shared_ptr<Export> exported) {
  auto& line = exported->fleet->client.line();
  if (!exported->call) {
    net::ClientRequest request;
    request.method = net::Method::post;
    request.target = "/containers/" + net::percent_encode(exported->container) +
                     "/checkpoint?export=true&leaveRunning=true&tcpEstablished=true";
    request.timeouts.first_byte = kWritePatience;
    request.timeouts.total = std::nullopt;
    request.timeouts.silence = kSilence;
    CO_TRY(exported->call, co_await line.open(std::move(request), {}, Api::libpod));
    CO_TRY_OK(co_await exported->call->receive());
    if (exported->call->head().status >= 400) {
      net::Response answer;
      answer.status = exported->call->head().status;
      CO_TRY(answer.body, co_await exported->call->read_all(kLargestAnswer));
      co_return in_words(exported->fleet->dialect, line.told_error(answer), "keep its memory");
    }
    exported->on_written();
  }
  std::string piece(kPiece, '\0');
  CO_TRY(const size_t got, co_await exported->call->read_some(piece.data(), piece.size()));
  piece.resize(got);
  co_return piece;
}

Task<std::string> next_passed(std::shared_ptr<CheckpointArchive> archive, MemoryPieces pieces) {
  for (;;) {
    CO_TRY(const auto piece, co_await pieces());
    if (piece.empty()) {
      CO_TRY_OK(archive->finish());
      co_return std::string();
    }
    CO_TRY(auto passed, archive->pass(piece));
    // An empty one would be the end.
    if (!passed.empty()) co_return passed;
  }
}

// What is there, once.
Task<std::string> take_all(std::shared_ptr<std::string> left) {
  co_return std::exchange(*left, std::string());
}

Task<std::string> read_piece(std::shared_ptr<Fd> file) {
  std::string piece(kPiece, '\0');
  const ssize_t got = read(file->get(), piece.data(), piece.size());
  if (got < 0) co_return os_error("reading a snapshot");
  piece.resize(static_cast<size_t>(got));
  co_return piece;
}

Result<> check_keepable(const ContainerState& state) {
  if (state.is_paused)
    return Error(Code::conflict, "a paused sandbox cannot be kept").with_hint("resume it first");
  const auto is_ours = [](const std::string& place) {
    return place == kAgentInside || place == kDoorInside;
  };
  if (state.network == "none" && std::ranges::all_of(state.shown, is_ours)) return {};
  return Error(Code::unsupported,
               "the memory of a sandbox with a network or directories of the host is not kept")
      .with_hint("take a snapshot of its files");
}

// One that a thread of its own goes to, because a namespace of mounts is a thread's.
Result<> remount_in(const Fd& space) {
  if (unshare(CLONE_FS) != 0) return os_error("leaving the file system of others");
  if (setns(space.get(), CLONE_NEWNS) != 0) return os_error("entering the sandbox's mounts");
  if (mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
    return os_error("making its root read-only");
  return {};
}

}  // namespace

Result<> make_root_read_only(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/ns/mnt";
  TRY(const auto space, os::open_at(AT_FDCWD, path, O_RDONLY));
  Result<> done;
  std::thread([&] { done = remount_in(space); }).join();
  return done;
}

MemoryPieces Checkpoints::keep(std::string container, std::function<void()> on_written) {
  auto under_way = std::make_shared<Export>();
  under_way->fleet = fleet_;
  under_way->container = std::move(container);
  under_way->on_written = std::move(on_written);
  return [under_way] { return next_exported(under_way); };
}

Task<pid_t> Checkpoints::restore(ContainerSpec made, MemoryPieces pieces) {
  const std::string container = container_name(made.sandbox_id);
  const auto archive = std::make_shared<CheckpointArchive>(made);
  Followed followed;
  followed.api = Api::libpod;
  followed.path = "/containers/" + net::percent_encode(container) +
                  "/restore?import=true&tcpEstablished=true&name=" + net::percent_encode(container);
  followed.headers.add("Content-Type", "application/x-tar");
  followed.silence = followed.total = kWritePatience;
  followed.next_piece = [archive, pieces = std::move(pieces)] {
    return next_passed(archive, pieces);
  };
  auto restored = co_await fleet_->client.line().follow(std::move(followed));
  if (!restored) co_return in_words(fleet_->dialect, restored.error(), "let it go on");
  CO_TRY(const auto state, co_await fleet_->client.inspect(container));
  CO_TRY_OK(check_restored(made, state));
  co_return state.pid;
}

// It hears others again as soon as its memory is written, before that is with us.
Task<SnapshotFacts> Checkpoints::save(ContainerSandbox& sandbox, FileSnapshots& files,
                                      std::string id) {
  const std::string name(fleet_->dialect.name);
  if (obstacle_)
    co_return Error(Code::unsupported, name + " cannot keep memory: " + obstacle_->message());
  const std::string container = container_name(sandbox.id());
  CO_TRY(const auto state, co_await fleet_->client.inspect(container));
  CO_TRY_OK(check_keepable(state));
  CO_TRY(const auto stats, co_await sandbox.stats());
  CO_TRY_OK(co_await sandbox.rest());
  auto pieces = keep(container, [&sandbox] { sandbox.wake(); });
  auto kept =
      co_await files.save_pieces(std::move(id), kFile, stats.memory_bytes, std::move(pieces));
  sandbox.wake();
  co_return kept;
}

Task<std::unique_ptr<Sandbox>> Checkpoints::go_on(FileSnapshots& files, std::string snapshot,
                                                  ContainerSpec made, std::unique_ptr<AgentWay> way,
                                                  FirstWords words) {
  const std::string id = made.sandbox_id;
  const std::string name(fleet_->dialect.name);
  if (obstacle_)
    co_return Error(Code::unavailable, name + " lets no memory go on: " + obstacle_->message());
  if (!made.shares.empty() || made.network != Network::none || !made.engine_socket.empty())
    co_return Error(Code::unsupported, "what goes on from memory is shown nothing more");
  CO_TRY(const auto directory, co_await files.open_image(std::move(snapshot)));
  CO_TRY(auto opened, os::open_at(directory.get(), kFile, O_RDONLY | O_NOFOLLOW));
  const auto file = std::make_shared<Fd>(std::move(opened));
  // Its clock is not known before it answers.
  const Micros expires_at = std::exchange(words.config.expires_at, Micros(0));
  CO_TRY(auto told, words.encoded(Micros(0)));
  CO_TRY_OK(way->open());
  CO_TRY(const pid_t process,
         co_await restore(std::move(made), [file] { return read_piece(file); }));
  fleet_->live.insert_or_assign(id, expires_at);
  fleet_->births[id] = ++fleet_->last_birth;
  way->expect(process);
  auto sandbox =
      std::make_unique<ContainerSandbox>(fleet_, id, std::move(way), std::nullopt, OwnClock::yes);
  auto become = co_await sandbox->become(std::move(told), expires_at);
  if (!become) co_return std::move(become).error().with("telling the agent who it is");
  co_return std::unique_ptr<Sandbox>(std::move(sandbox));
}

// What the engine says it has set, and what CRIU does not.
Result<> Checkpoints::check_restored(const ContainerSpec& made, const ContainerState& state) const {
  if (!state.is_running) return Error(Code::conflict, "it ended as soon as it went on");
  if (state.memory_bytes != static_cast<int64_t>(made.memory_bytes) ||
      state.pids != static_cast<int64_t>(made.pids) || state.network != "none" ||
      state.sandbox_id != made.sandbox_id || state.instance != made.instance) {
    return Error(Code::unavailable, std::string(fleet_->dialect.name) +
                                        " has restored another sandbox than was asked for");
  }
  return state.has_read_only_root ? make_root_read_only(state.pid) : Result<>();
}

Task<> Checkpoints::try_out(std::string runtime) {
  if (!shares_the_kernel(runtime)) {
    obstacle_ = Error(Code::unsupported,
                      "it takes runc as the service's runtime, which is " + to_printable(runtime));
    try_again_ = {};
    co_return *obstacle_;
  }
  if (!obstacle_) co_return Result<>();
  if (std::chrono::steady_clock::now() < try_again_) co_return *obstacle_;
  if (geteuid() != 0) {
    obstacle_ = Error(Code::unsupported, "CRIU makes no root read-only, and only root can");
    co_return *obstacle_;
  }
  // Whoever asks meanwhile hears what was known before.
  try_again_ = std::chrono::steady_clock::now() + kTryAgain;
  const std::string first = make_sandbox_id();
  const std::string second = make_sandbox_id();
  under_way_.insert({first, second});
  auto tried = co_await try_once(first, second);
  for (const auto& id : {first, second}) {
    auto removed = co_await remove_container(fleet_, id);
    if (!removed && tried) tried = std::move(removed).error();
    under_way_.erase(id);  // what is left the sweeper finds
  }
  const auto dropped = co_await drop_trial_image(fleet_, std::string(kTrialKind));
  if (!dropped) {
    telemetry::log_warn("the image of a trial stays until the next sweep",
                        {{"engine", fleet_->dialect.name}, {"why", dropped.error().message()}});
  }
  obstacle_.reset();
  if (!tried) {
    const std::string& why = tried.error().message();
    // Podman asks for CRIU before it does anything.
    const bool has_none =
        has_word(why, "exec: \"criu\"") || has_word(why, "at least CRIU") || has_word(why, "criu");
    obstacle_ = Error(Code::unsupported,
                      has_none ? "it takes CRIU 4 or newer, which the engine does not find or "
                                 "cannot use: " +
                                     why
                               : why);
  }
  co_return tried;
}

// An agent that waits for its first words, kept and gone on elsewhere.
Task<> Checkpoints::try_once(std::string first, std::string second) {
  SandboxSpec asked;
  asked.id = first;
  CO_TRY(auto spec, make_container_spec(asked));
  spec.instance = fleet_->instance;
  spec.agent = fleet_->agent_on_engine();
  CO_TRY(const auto door, AgentDoor::make(fleet_->executor, fleet_->directory, first));
  spec.door = door->path();
  CO_TRY(spec.image, co_await get_trial_image(fleet_, std::string(kTrialKind)));
  const std::string container = container_name(first);
  CO_TRY_OK(co_await fleet_->client.create(container, to_json(spec, fleet_->dialect)));
  CO_TRY_OK(co_await fleet_->client.start(container));
  const auto kept = std::make_shared<std::string>();
  const auto pieces = keep(container, [] {});
  for (;;) {
    CO_TRY(const auto piece, co_await pieces());
    if (piece.empty()) break;
    *kept += piece;
    if (kept->size() > kLargestTrial) co_return Error(Code::internal, "so little is so much");
  }
  CO_TRY_OK(co_await remove_container(fleet_, first));
  spec.sandbox_id = second;
  CO_TRY(const auto other, AgentDoor::make(fleet_->executor, fleet_->directory, second));
  spec.door = other->path();
  CO_TRY([[maybe_unused]] const pid_t process,
         co_await restore(spec, [kept] { return take_all(kept); }));
  co_return Result<>();
}

}  // namespace atl::container
