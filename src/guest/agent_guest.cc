#include "guest/agent_guest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/clock.h"
#include "guest/agent_connection.h"
#include "guest/agent_tool.h"
#include "guest/fed_process.h"
#include "guest/protocol.h"

namespace atl::guest {
namespace {

// How much output may be under way per process: enough to keep a fast writer busy, little enough to
// hold a thousand.
constexpr uint64_t kWindow = 2 << 20;

constexpr Micros kLongestUptime = std::chrono::hours(24 * 365 * 100);

ExitStatus to_status(const Exited& exited) {
  ExitStatus status;
  status.exit_code = exited.exit_code;
  status.signal = exited.signal;
  status.reason = static_cast<ExitReason>(exited.kind);
  status.limit = static_cast<atl::HitLimit>(exited.limit);
  status.duration = Micros(exited.duration_us);
  status.usage.cpu_user = Micros(exited.cpu_user_us);
  status.usage.cpu_system = Micros(exited.cpu_system_us);
  status.usage.peak_memory_bytes = exited.peak_memory_bytes;
  status.usage.stdout_bytes = exited.stdout_bytes;
  status.usage.stderr_bytes = exited.stderr_bytes;
  status.usage.scope = exited.whole_group ? UsageScope::cgroup : UsageScope::waited;
  status.attested = exited.attested;
  status.warm = exited.warm;
  return status;
}
static_assert(static_cast<int>(ExitKind::infra) == static_cast<int>(ExitReason::infra));
static_assert(static_cast<int>(HitLimit::output) == static_cast<int>(atl::HitLimit::output));
static_assert(static_cast<int>(ChangeKind::deleted) == static_cast<int>(atl::ChangeKind::deleted));

WallTime to_wall(int64_t millis) {
  // A date that no calendar has would break whoever prints it.
  constexpr int64_t kYear9999 = 253'402'300'799'000;
  return WallTime(Millis(std::clamp<int64_t>(millis, 0, kYear9999)));
}

FileInfo to_info(Entry entry) {
  FileInfo info;
  info.name = std::move(entry.name);
  info.path = std::move(entry.path);
  info.kind = static_cast<FileKind>(entry.kind);
  info.size = entry.size;
  info.mode = entry.mode & 07777;
  info.uid = entry.uid;
  info.gid = entry.gid;
  info.modified_at = to_wall(entry.modified_at_ms);
  info.link_target = std::move(entry.link_target);
  info.version = entry.version;
  return info;
}

FileChange to_change(Change change) {
  FileChange told;
  told.change = static_cast<atl::ChangeKind>(change.change);
  told.kind = static_cast<FileKind>(change.kind);
  told.path = std::move(change.path);
  told.size = change.size;
  told.mode = change.mode & 07777;
  told.modified_at = std::chrono::nanoseconds(change.modified_at_ns);
  told.link_target = std::move(change.link_target);
  return told;
}

ProcessInfo to_info(ProcessRow row) {
  ProcessInfo info;
  info.id = row.process;
  info.pid = static_cast<int>(row.pid);
  info.argv = std::move(row.argv);
  info.cwd = std::move(row.cwd);
  info.started_at = to_wall(row.started_at_ms);
  info.running = row.running;
  info.terminal = row.terminal;
  info.status = to_status(row.exit);
  info.stdout_first = row.stdout_first;
  info.stdout_end = row.stdout_end;
  info.stderr_first = row.stderr_first;
  info.stderr_end = row.stderr_end;
  return info;
}

// What a process is told to have come to when its agent can no longer say.
ExitStatus lost() {
  ExitStatus status;
  status.exit_code = 125;
  status.reason = ExitReason::infra;
  status.attested = false;
  return status;
}

class AgentProcess final : public Process {
 public:
  AgentProcess(std::shared_ptr<AgentConnection> connection, uint32_t channel, Started started)
      : connection_(std::move(connection)), channel_(channel), started_(started) {}

  ~AgentProcess() override {
    // The agent stops sending, so that nobody waits for a reader that has gone; a direct process
    // ends.
    if (!ended_) connection_->post(FrameType::detach, channel_, {});
    connection_->close_channel(channel_);
  }

  ProcessId id() const override { return started_.process; }
  int pid() const override { return static_cast<int>(started_.pid); }

  Task<ProcessEvent> next() override {
    if (ended_) co_return Error(Code::internal, "the process has ended");
    auto message = co_await connection_->receive(channel_);
    if (!message) {
      if (message.error().code() == Code::cancelled) co_return std::move(message).error();
      ended_ = true;
      co_return ProcessEvent(lost());
    }
    switch (message->type) {
      case FrameType::output: {
        CO_TRY(auto piece, decode_output(message->body));
        taken_ += piece.bytes.size();
        if (taken_ >= kWindow / 4) connection_->grant(channel_, std::exchange(taken_, 0));
        Output output{static_cast<Stream>(piece.stream), piece.offset, {}};
        // The body becomes the output: its header is cut off in place.
        output.bytes = std::move(message->body);
        output.bytes.erase(0, kOutputPieceHeader);
        co_return ProcessEvent(std::move(output));
      }
      case FrameType::gap: {
        CO_TRY(auto gap, decode_gap(message->body));
        co_return ProcessEvent(OutputGap{static_cast<Stream>(gap.stream), gap.from, gap.to});
      }
      case FrameType::exited: {
        CO_TRY(auto exited, decode_exited(message->body));
        ended_ = true;
        co_return ProcessEvent(to_status(exited));
      }
      default:
        co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
    }
  }

  void interrupt() override { connection_->interrupt(channel_); }

  Task<> write_stdin(std::string bytes) override {
    for (size_t at = 0; at < bytes.size(); at += kDataPiece) {
      const std::string body =
          encode(StdinData{started_.process, std::string_view(bytes).substr(at, kDataPiece)});
      auto written = co_await connection_->call(FrameType::stdin_data, body);
      if (!written) co_return std::move(written).error();
    }
    co_return Result<>();
  }

  Task<> close_stdin() override {
    const std::string body = encode(StdinData{started_.process, {}});
    auto closed = co_await connection_->call(FrameType::stdin_close, body);
    if (!closed) co_return std::move(closed).error();
    co_return Result<>();
  }

 private:
  std::shared_ptr<AgentConnection> connection_;
  uint32_t channel_;
  Started started_;
  uint64_t taken_ = 0;
  bool ended_ = false;
};

// Waits for `started` and makes the handle; the channel is closed on every other way out.
Task<std::unique_ptr<Process>> follow(std::shared_ptr<AgentConnection> connection, FrameType type,
                                      std::string body, std::vector<Fd> descriptors) {
  const uint32_t channel = connection->open_channel(kWindow);
  auto sent = co_await connection->send(type, channel, std::move(body), std::move(descriptors));
  if (!sent) {
    connection->close_channel(channel);
    co_return std::move(sent).error();
  }
  auto first = co_await connection->receive_answer(channel);
  Result<Started> started = Error(Code::unavailable, "the sandbox's agent answers nonsense");
  if (!first) {
    // What is started after all is nobody's.
    connection->post(FrameType::detach, channel, {});
    started = std::move(first).error();
  } else if (first->type == FrameType::started) {
    started = decode_started(first->body);
  } else if (first->type == FrameType::error) {
    auto error = decode_error(first->body);
    started = error ? std::move(*error) : std::move(error).error();
  }
  if (!started) {
    connection->close_channel(channel);
    co_return std::move(started).error();
  }
  co_return std::make_unique<AgentProcess>(std::move(connection), channel, *started);
}

class AgentTunnel final : public Tunnel {
 public:
  AgentTunnel(std::shared_ptr<AgentConnection> connection, uint32_t channel)
      : connection_(std::move(connection)), channel_(channel) {}
  ~AgentTunnel() override {
    connection_->post(FrameType::detach, channel_, {});
    connection_->close_channel(channel_);
  }

  Task<std::string> read() override {
    if (ended_) co_return std::string();
    CO_TRY(auto message, co_await connection_->receive(channel_));
    if (message.type == FrameType::output) {
      CO_TRY(const auto piece, decode_output(message.body));
      taken_ += piece.bytes.size();
      if (taken_ >= kWindow / 4) connection_->grant(channel_, std::exchange(taken_, 0));
      message.body.erase(0, kOutputPieceHeader);
      co_return std::move(message.body);
    }
    ended_ = true;
    if (message.type == FrameType::ok) co_return std::string();
    if (message.type != FrameType::error)
      co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
    CO_TRY(auto error, decode_error(message.body));
    co_return error;
  }

  Task<> write(std::string bytes) override {
    for (size_t at = 0; at < bytes.size(); at += kDataPiece) {
      const std::string body =
          encode(TunnelData{channel_, std::string_view(bytes).substr(at, kDataPiece)});
      CO_TRY_OK(co_await connection_->call(FrameType::tunnel_write, body));
    }
    co_return Result<>();
  }

  Task<> finish() override {
    CO_TRY_OK(
        co_await connection_->call(FrameType::tunnel_finish, encode(TunnelData{channel_, {}})));
    co_return Result<>();
  }

  void interrupt() override { connection_->interrupt(channel_); }

 private:
  std::shared_ptr<AgentConnection> connection_;
  uint32_t channel_;
  uint64_t taken_ = 0;
  bool ended_ = false;
};

// What is only ever added to at its end needs none.
bool has_position(const Fd& descriptor) {
  struct stat facts{};
  if (fstat(descriptor.get(), &facts) != 0) return true;
  if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode)) return false;
  const int flags = fcntl(descriptor.get(), F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) != O_WRONLY || (flags & O_APPEND) == 0;
}

class AgentFileReader final : public FileReader {
 public:
  AgentFileReader(std::shared_ptr<AgentConnection> connection, OpenedFile opened)
      : connection_(std::move(connection)), opened_(opened) {}
  ~AgentFileReader() override {
    connection_->post(FrameType::close_file, 0, encode_handle(opened_.handle));
  }

  uint64_t size() const override { return opened_.size; }
  uint64_t version() const override { return opened_.version; }
  Task<std::string> read(uint64_t offset, size_t most) override {
    const auto piece = static_cast<uint32_t>(std::min(most, kDataPiece));
    const std::string body = encode(ReadFile{opened_.handle, offset, piece});
    CO_TRY(auto bytes, co_await connection_->call(FrameType::read, body));
    if (bytes.size() > piece)
      co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
    co_return std::move(bytes);
  }

 private:
  std::shared_ptr<AgentConnection> connection_;
  OpenedFile opened_;
};

class AgentFileWriter final : public FileWriter {
 public:
  AgentFileWriter(std::shared_ptr<AgentConnection> connection, OpenedFile opened)
      : connection_(std::move(connection)), opened_(opened) {}
  ~AgentFileWriter() override {
    if (!committed_) connection_->post(FrameType::close_file, 0, encode_handle(opened_.handle));
  }

  Task<> write(std::string bytes) override {
    for (size_t at = 0; at < bytes.size(); at += kDataPiece) {
      const std::string body =
          encode(WriteFile{opened_.handle, std::string_view(bytes).substr(at, kDataPiece)});
      auto written = co_await connection_->call(FrameType::write, body);
      if (!written) co_return std::move(written).error();
    }
    co_return Result<>();
  }

  Task<FileInfo> commit() override {
    const std::string body = encode_handle(opened_.handle);
    CO_TRY(auto answer, co_await connection_->call(FrameType::commit, body));
    committed_ = true;
    CO_TRY(auto entries, decode_entries(answer));
    if (entries.size() != 1)
      co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
    co_return to_info(std::move(entries[0]));
  }

 private:
  std::shared_ptr<AgentConnection> connection_;
  OpenedFile opened_;
  bool committed_ = false;
};

}  // namespace

AgentGuest::AgentGuest(asio::any_io_executor executor, OpenStream open, Direct direct)
    : executor_(std::move(executor)), open_(std::move(open)), direct_(direct) {}

AgentGuest::~AgentGuest() { close(); }

void AgentGuest::close() {
  if (connection_) connection_->close();
}

Task<std::shared_ptr<AgentConnection>> AgentGuest::connection() {
  if (connection_ && connection_->is_open()) co_return connection_;
  CO_TRY(auto stream, co_await open_());
  CO_TRY(auto opened, co_await AgentConnection::open(executor_, std::move(stream)));
  connection_ = opened;
  co_return opened;
}

Task<> AgentGuest::hand_over(HandOver message) {
  std::string body = encode(message);
  if (body.size() > kLargestBody)
    co_return Error(Code::too_large, "the sandbox's environment is larger than 1 MiB");
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::hand_over, std::move(body)));
  co_return Result<>();
}

Task<> AgentGuest::rest() {
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::rest, {}));
  // Its end is the agent's last word: by then it has let go of everything.
  const uint32_t channel = agent->open_channel(0);
  auto heard = co_await agent->receive_answer(channel);
  agent->close_channel(channel);
  if (!heard && heard.error().code() == Code::unavailable) co_return Result<>();
  agent->close();
  co_return Error(Code::unavailable, "the sandbox's agent does not come to rest");
}

Task<> AgentGuest::become(std::string words) {
  if (words.size() > kLargestBody)
    co_return Error(Code::too_large, "the sandbox's environment is larger than 512 KiB");
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::become, std::move(words)));
  co_return Result<>();
}

Task<Micros> AgentGuest::clock_ahead() {
  CO_TRY(auto agent, co_await connection());
  CO_TRY(const auto answer, co_await agent->call(FrameType::clock, {}));
  ByteReader reader(answer);
  const Micros theirs(reader.i64());
  CO_TRY_OK(reader.finish());
  if (theirs.count() < 0 || theirs > kLongestUptime)
    co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
  co_return theirs - system_clock().boot();
}

Task<> AgentGuest::renew(Micros expires_at) {
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::renew, encode(Renew{expires_at})));
  co_return Result<>();
}

Task<> AgentGuest::greet() {
  CO_TRY_OK(co_await connection());
  co_return Result<>();
}

Task<std::unique_ptr<Process>> AgentGuest::start(ExecRequest request) {
  Exec exec;
  exec.argv = std::move(request.argv);
  exec.env = std::move(request.env);
  exec.cwd = std::move(request.cwd);
  exec.user = std::move(request.user);
  exec.stdin_open = request.stdin_mode == StdinMode::open;
  CO_TRY(auto agent, co_await connection());
  const bool wants_direct = request.stdio == StdioMode::direct;
  exec.direct = wants_direct && agent->carries_descriptors() &&
                (direct_ == Direct::any || std::ranges::none_of(request.direct, has_position));
  const bool is_fed = wants_direct && !exec.direct;
  if (is_fed) exec.stdin_open = true;
  exec.warm = request.warm == Warmth::welcome;
  exec.timeout_ms = static_cast<uint64_t>(std::max<int64_t>(request.timeout.count(), 0));
  exec.cpu_time_ms = static_cast<uint64_t>(std::max<int64_t>(request.cpu_time.count(), 0));
  exec.output_limit = request.output_limit;
  exec.credit = kWindow;
  if (request.terminal) {
    exec.rows = request.terminal->rows;
    exec.columns = request.terminal->columns;
    exec.stdin_open = true;
  }
  std::vector<Fd> descriptors;
  if (exec.direct) {
    for (auto& descriptor : request.direct) descriptors.push_back(std::move(descriptor));
  }
  std::string body = encode(exec);
  if (body.size() > kLargestBody) {
    co_return Error(Code::too_large, "arguments and environment are larger than 1 MiB together");
  }
  CO_TRY(auto process, co_await follow(std::move(agent), FrameType::exec, std::move(body),
                                       std::move(descriptors)));
  if (is_fed) process = feed_process(executor_, std::move(process), std::move(request.direct[0]));
  co_return std::move(process);
}

Task<std::unique_ptr<Process>> AgentGuest::attach(ProcessId process, ResumeFrom from) {
  std::string body = encode(Attach{process, from.stdout_offset, from.stderr_offset, kWindow});
  CO_TRY(auto agent, co_await connection());
  std::vector<Fd> none;
  co_return co_await follow(std::move(agent), FrameType::attach, std::move(body), std::move(none));
}

Task<std::vector<ProcessInfo>> AgentGuest::processes() {
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::processes, {}));
  CO_TRY(auto rows, decode_processes(answer));
  std::vector<ProcessInfo> infos;
  for (auto& row : rows) infos.push_back(to_info(std::move(row)));
  co_return infos;
}

Task<> AgentGuest::signal(ProcessId process, int signal_number) {
  const std::string body = encode(Signal{process, static_cast<uint32_t>(signal_number)});
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::signal, body));
  co_return Result<>();
}

Task<> AgentGuest::resize(ProcessId process, TerminalSize size) {
  const std::string body = encode(Resize{process, size.rows, size.columns});
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::resize, body));
  co_return Result<>();
}

Task<FileInfo> AgentGuest::stat(std::string path) {
  const std::string body = encode(Path{std::move(path), 0, false, 0});
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::stat, body));
  CO_TRY(auto entries, decode_entries(answer));
  if (entries.size() != 1)
    co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
  co_return to_info(std::move(entries[0]));
}

Task<std::vector<FileInfo>> AgentGuest::list(std::string path, size_t most) {
  const std::string body = encode(Path{std::move(path), 0, false, most});
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::list, body));
  CO_TRY(auto entries, decode_entries(answer));
  std::vector<FileInfo> infos;
  for (auto& entry : entries) infos.push_back(to_info(std::move(entry)));
  co_return infos;
}

Task<std::vector<FileChange>> AgentGuest::changes(std::string path) {
  std::vector<FileChange> all;
  for (;;) {
    std::string body = encode(Diff{path, all.size()});
    CO_TRY(auto agent, co_await connection());
    CO_TRY(auto answer, co_await agent->call(FrameType::diff, std::move(body)));
    CO_TRY(auto page, decode_diff_page(answer));
    // A page that is empty and not the last, or one too many, would never end.
    if (all.size() + page.changes.size() > kMostChanges || (page.more && page.changes.empty())) {
      co_return Error(Code::unavailable, "the sandbox's agent lists changes without end");
    }
    for (auto& change : page.changes) all.push_back(to_change(std::move(change)));
    if (!page.more) co_return all;
  }
}

Task<std::unique_ptr<Tunnel>> AgentGuest::dial(uint16_t port) {
  CO_TRY(auto agent, co_await connection());
  const uint32_t channel = agent->open_channel(kWindow);
  auto tunnel = std::make_unique<AgentTunnel>(agent, channel);
  CO_TRY_OK(co_await agent->send(FrameType::dial, channel, encode(Dial{port, kWindow})));
  CO_TRY(const auto answer, co_await agent->receive_answer(channel));
  if (answer.type == FrameType::started) co_return tunnel;
  if (answer.type != FrameType::error)
    co_return Error(Code::unavailable, "the sandbox's agent answers nonsense");
  CO_TRY(auto error, decode_error(answer.body));
  co_return error;
}

Task<std::unique_ptr<FileTool>> AgentGuest::start_tool(ToolRequest request) {
  Tool tool = to_tool(request);
  tool.credit = kWindow;
  std::string path = tool.path;
  std::string body = encode(tool);
  if (body.size() > kLargestBody) co_return Error(Code::too_large, "the request is too large");
  CO_TRY(auto agent, co_await connection());
  std::vector<Fd> none;
  CO_TRY(auto process,
         co_await follow(std::move(agent), FrameType::tool, std::move(body), std::move(none)));
  co_return make_agent_tool(std::move(process), std::move(path));
}

Task<std::unique_ptr<FileWriter>> AgentGuest::resume_write(ResumableWrite request) {
  const Path file{std::move(request.path), request.mode, request.parents == Parents::create, 0};
  const std::string body = encode(ResumeWrite{file, request.upload, request.offset, false});
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::resume_write, body));
  CO_TRY(auto opened, decode_opened(answer));
  co_return std::make_unique<AgentFileWriter>(std::move(agent), opened);
}

Task<uint64_t> AgentGuest::uploaded(std::string path, std::string upload) {
  const Path file{std::move(path), 0, false, 0};
  const std::string body = encode(ResumeWrite{file, std::move(upload), 0, true});
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::resume_write, body));
  CO_TRY(auto opened, decode_opened(answer));
  co_return opened.size;
}

Task<std::unique_ptr<FileReader>> AgentGuest::open_read(std::string path) {
  const std::string body = encode(Path{std::move(path), 0, false, 0});
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::open_read, body));
  CO_TRY(auto opened, decode_opened(answer));
  co_return std::make_unique<AgentFileReader>(std::move(agent), opened);
}

Task<std::unique_ptr<FileWriter>> AgentGuest::open_write(std::string path, uint32_t mode,
                                                         Parents parents) {
  const std::string body = encode(Path{std::move(path), mode, parents == Parents::create, 0});
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::open_write, body));
  CO_TRY(auto opened, decode_opened(answer));
  co_return std::make_unique<AgentFileWriter>(std::move(agent), opened);
}

Task<> AgentGuest::mkdir(std::string path, Parents parents) {
  const std::string body = encode(Path{std::move(path), 0, parents == Parents::create, 0});
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::mkdir, body));
  co_return Result<>();
}

Task<> AgentGuest::move(std::string from, std::string to) {
  const std::string body = encode(Move{std::move(from), std::move(to)});
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::move, body));
  co_return Result<>();
}

Task<> AgentGuest::remove(std::string path, Recursive recursive) {
  const std::string body = encode(Path{std::move(path), 0, recursive == Recursive::yes, 0});
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::remove, body));
  co_return Result<>();
}

Task<> AgentGuest::end_processes() {
  CO_TRY(auto agent, co_await connection());
  CO_TRY_OK(co_await agent->call(FrameType::end_processes, {}));
  co_return Result<>();
}

Task<SandboxStats> AgentGuest::stats() {
  CO_TRY(auto agent, co_await connection());
  CO_TRY(auto answer, co_await agent->call(FrameType::stats, {}));
  CO_TRY(auto told, decode_stats(answer));
  SandboxStats stats;
  stats.processes = told.processes;
  stats.cpu = Micros(told.cpu_us);
  stats.memory_bytes = told.memory_bytes;
  stats.age = Micros(told.age_us);
  stats.braked = told.braked;
  co_return stats;
}

}  // namespace atl::guest
