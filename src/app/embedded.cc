#include "app/embedded.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/v1/exec_wire.h"
#include "app/drivers.h"
#include "app/embedded_launcher.h"
#include "app/programs.h"
#include "app/pull_line.h"
#include "base/event.h"
#include "base/run_task.h"
#include "cli/output_pipe.h"
#include "cli/raw_terminal.h"
#include "native/launcher_client.h"
#include "os/file.h"
#include "store/memory_store.h"
#include "telemetry/metrics.h"
#include "telemetry/stages.h"

namespace atl::app {
namespace {

Result<Fd> stdio_for(int number, const char* or_else) {
  if (or_else != nullptr) return os::open_at(AT_FDCWD, or_else, O_RDWR);
  Fd fd(fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (fd) return fd;
  if (errno != EBADF) return os_error("passing on descriptor", std::to_string(number));
  return os::open_at(AT_FDCWD, "/dev/null", O_RDWR);  // ours is closed
}

Task<> send_signal(Engine& engine, std::string sandbox, ProcessId process, int number) {
  CO_TRY(const auto guest, engine.guest(Caller(), sandbox));
  co_return co_await guest->signal(process, number);
}

Task<> send_size(Engine& engine, std::string sandbox, ProcessId process) {
  CO_TRY(const auto guest, engine.guest(Caller(), sandbox));
  const TerminalSize size = cli::terminal_size();
  co_return co_await guest->resize(process, size);
}

// Ctrl-Z stops the command with us, and it goes on with us.
Task<> suspend(Engine& engine, std::string sandbox, ProcessId process) {
  if (sandbox.empty()) {
    cli::stop_for_a_while();
    co_return Result<>();
  }
  // A command that has ended meanwhile cannot be told.
  const auto stopped = co_await send_signal(engine, sandbox, process, SIGSTOP);
  static_cast<void>(stopped);
  cli::stop_for_a_while();
  co_return co_await send_signal(engine, sandbox, process, SIGCONT);
}

using Keys = std::shared_ptr<asio::posix::stream_descriptor>;

// Until the terminal or the command is gone.
Task<> feed_keys(std::shared_ptr<Process> process, Keys keys) {
  char typed[4096];
  while (keys->is_open()) {
    boost::system::error_code failure;
    co_await keys->async_wait(asio::posix::stream_descriptor::wait_read,
                              asio::redirect_error(asio::use_awaitable, failure));
    if (failure) co_return Result<>();
    const ssize_t got = read(keys->native_handle(), typed, sizeof typed);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) co_return co_await process->close_stdin();
    CO_TRY_OK(co_await process->write_stdin(std::string(typed, static_cast<size_t>(got))));
  }
  co_return Result<>();
}

// All of a file of the sandbox.
Task<> copy_out(Engine& engine, std::string sandbox, std::string path, int fd) {
  constexpr size_t kPiece = 256 * 1024;
  CO_TRY(const auto guest, engine.guest(Caller(), sandbox));
  CO_TRY(const auto reader, co_await guest->open_read(std::move(path)));
  for (uint64_t offset = 0;;) {
    CO_TRY(const auto piece, co_await reader->read(offset, kPiece));
    if (piece.empty()) co_return Result<>();
    CO_TRY_OK(os::write_all(fd, piece));
    offset += piece.size();
  }
}

class EmbeddedChanges final : public cli::ChangeSource {
 public:
  EmbeddedChanges(asio::io_context& loop, Engine& engine, std::string sandbox)
      : loop_(loop), engine_(engine), sandbox_(std::move(sandbox)) {}

  Result<Changes> list(const std::string& path) override {
    return run_task(loop_, engine_.changes(Caller(), sandbox_, path));
  }
  Result<> read(const std::string& path, int fd) override {
    return run_task(loop_, copy_out(engine_, sandbox_, path, fd));
  }

 private:
  asio::io_context& loop_;
  Engine& engine_;
  std::string sandbox_;
};

Task<> keep(Task<RunResult> run, std::shared_ptr<std::optional<Result<RunResult>>> kept) {
  auto result = co_await std::move(run);
  kept->emplace(std::move(result));
  co_return Result<>();
}

// Passes on what people send to stop a program. The second Ctrl-C kills it, the third leaves
// without waiting for anybody. Before there is a program the first gives up.
class SignalForwarder final : public RunObserver {
 public:
  SignalForwarder(asio::io_context& loop, Engine& engine)
      : loop_(loop),
        engine_(engine),
        signals_(loop, SIGINT, SIGTERM, SIGQUIT),
        over_(loop.get_executor()),
        ended_(loop.get_executor()),
        released_(loop.get_executor()) {
    boost::system::error_code ignored;
    signals_.add(SIGHUP, ignored);
    signals_.add(SIGTSTP, ignored);
    listen();
  }

  Task<> on_started(SandboxView view, std::shared_ptr<Process> process) override {
    sandbox_ = std::move(view.id);
    process_ = process->id();
    if (keys_) spawn(loop_.get_executor(), feed_keys(std::move(process), keys_));
    if (waiting_ != 0) pass_on(waiting_);
    co_return Result<>();
  }

  // A driver that cannot hand our descriptors to the process sends its output here.
  Task<> on_event(ProcessEvent event) override {
    if (const auto* status = std::get_if<ExitStatus>(&event)) {
      status_ = *status;
      ended_.fire();
      if (!holds_end_) co_return Result<>();
      co_return co_await released_.wait();
    }
    const auto* output = std::get_if<Output>(&event);
    if (output == nullptr) co_return Result<>();
    if (screen_) co_return co_await screen_->write(output->bytes);
    co_return os::write_all(output->stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO,
                            output->bytes);
  }

  // The command has a terminal: what is typed on ours is its input, and it is as large as ours.
  Result<> lend_terminal() {
    boost::system::error_code ignored;
    signals_.add(SIGWINCH, ignored);
    keys_ = std::make_shared<asio::posix::stream_descriptor>(loop_);
    TRY(Fd keys, cli::open_stdin());
    keys_->assign(keys.release(), ignored);
    screen_.emplace(loop_.get_executor(), STDOUT_FILENO);
    return {};
  }

  // The sandbox stays after the command's end, until release().
  void hold_end() { holds_end_ = true; }
  void release() { released_.fire(); }
  // Fired at the command's end, and when there is none to come.
  Event& ended() { return ended_; }
  // Fired when nothing is waited for any more, because there is a result or because people leave.
  Event& over() { return over_; }
  void end_all() {
    over_.fire();
    ended_.fire();
  }
  const std::optional<ExitStatus>& status() const { return status_; }
  const std::string& sandbox() const { return sandbox_; }

  void cancel() {
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    if (keys_) keys_->close(ignored);
  }

  std::shared_ptr<RunStop> stop() const { return stop_; }
  int signal() const { return first_; }

 private:
  void listen() {
    signals_.async_wait([this](const boost::system::error_code& failure, int number) {
      if (failure) return;
      on_signal(number);
      listen();
    });
  }

  void on_signal(int number) {
    if (number == SIGWINCH) {
      if (!sandbox_.empty()) spawn(loop_.get_executor(), send_size(engine_, sandbox_, process_));
      return;
    }
    if (number == SIGTSTP) {
      if (keys_) return;  // what is typed goes to the command, which has a terminal of its own
      spawn(loop_.get_executor(), suspend(engine_, sandbox_, process_));
      return;
    }
    if (first_ == 0) first_ = number;
    if (number == SIGINT) ++interrupts_;
    if (interrupts_ > 2) {
      stop_->stop();
      return end_all();
    }
    if (sandbox_.empty()) {
      // The program may already run though we have not been told: it gets the first signal then.
      // Who cannot wait sends another.
      const bool is_second = std::exchange(waiting_, number) != 0;
      if (is_second || !stop_->is_made()) stop_->stop();
      return;
    }
    pass_on(interrupts_ == 2 ? SIGKILL : number);
  }

  void pass_on(int number) {
    spawn(loop_.get_executor(), send_signal(engine_, sandbox_, process_, number));
  }

  asio::io_context& loop_;
  Engine& engine_;
  asio::signal_set signals_;
  std::shared_ptr<RunStop> stop_ = std::make_shared<RunStop>();
  Keys keys_;
  std::optional<cli::OutputPipe> screen_;
  std::string sandbox_;
  ProcessId process_ = 0;
  int first_ = 0;
  int waiting_ = 0;  // came before the program did
  int interrupts_ = 0;
  Event over_;
  Event ended_;
  Event released_;
  bool holds_end_ = false;
  std::optional<ExitStatus> status_;
};

class EmbeddedEngine final : public cli::LocalEngine {
 public:
  static Result<std::unique_ptr<cli::LocalEngine>> create(
      std::shared_ptr<const policy::Profiles> profiles, const std::string& state_directory) {
    telemetry::StageTimer timer;
    auto loop = std::make_unique<asio::io_context>(1);
    TRY(auto libexec, find_libexec());
    TRY(auto launcher, open_embedded_launcher(loop->get_executor(), libexec));
    auto engines = engines_of(*launcher, libexec);
    engines.on_progress = pull_line();
    std::unique_ptr<EmbeddedEngine> made(
        new EmbeddedEngine(std::move(loop), std::move(launcher), std::move(engines),
                           state_directory.empty() ? std::vector<extension::Grant>()
                                                   : find_extensions(state_directory),
                           std::move(profiles)));
    TRY_OK(run_task(*made->loop_, made->engine_.recover()));
    timer.mark("engine");
    made->began_ = timer.stages();
    return std::unique_ptr<cli::LocalEngine>(std::move(made));
  }

  ~EmbeddedEngine() override {
    if (is_left_) {
      // The launcher ends what is on this host when we are gone, and so do agents in containers;
      // what was being made with an engine the next run removes. Calls that are under way are never
      // taken up again, and go with the process.
      [[maybe_unused]] const asio::io_context* left = loop_.release();
      return;
    }
    launcher_->leave();
    static_cast<void>(run_task(*loop_, engine_.shut_down(Ending::end_sandboxes)));
    // What was told to stop comes to its end while everything that it uses is still there.
    loop_->restart();
    loop_->poll();
  }

  std::vector<DriverView> drivers() override {
    static_cast<void>(run_task(*loop_, engine_.ask_rest()));
    return engine_.drivers();
  }

  Result<Explanation> explain(CreateRequest request) override {
    return run_task(*loop_, engine_.explain({}, std::move(request)));
  }

  Result<RoutePlan> plan(CreateRequest request, std::string as) override {
    return run_task(*loop_, engine_.plan(Caller(), std::move(request), std::move(as)));
  }

  Result<RunResult> run(cli::LocalRun run) override {
    const bool direct = run.output == cli::OutputTo::terminal;
    if (direct && !run.exec.terminal) {
      run.exec.stdio = StdioMode::direct;
      TRY(run.exec.direct[0], stdio_for(STDIN_FILENO, run.pass_stdin ? nullptr : "/dev/null"));
      TRY(run.exec.direct[1], stdio_for(STDOUT_FILENO, nullptr));
      TRY(run.exec.direct[2], stdio_for(STDERR_FILENO, nullptr));
    }

    const auto forwarder = std::make_shared<SignalForwarder>(*loop_, engine_);
    if (run.exec.terminal) TRY_OK(forwarder->lend_terminal());
    if (direct && run.at_end) return run_and_look(std::move(run), forwarder);
    auto call = direct
                    ? engine_.run(Caller(), std::move(run.sandbox), std::move(run.exec), "",
                                  forwarder, forwarder->stop())
                    : engine_.run(Caller(), std::move(run.sandbox), std::move(run.exec),
                                  std::move(run.input), api::v1::kDefaultKeep, forwarder->stop());
    return wait_for(begin(std::move(call), forwarder), *forwarder);
  }

  Result<> run_batch(std::shared_ptr<BatchRuns> runs, BatchOptions options) override {
    return run_task(*loop_, atl::run_batch(engine_, Caller(), std::move(runs), options,
                                           std::make_shared<BatchStop>()));
  }

 private:
  EmbeddedEngine(std::unique_ptr<asio::io_context> loop,
                 std::unique_ptr<native::LauncherClient> launcher, drivers::Engines engines,
                 std::vector<extension::Grant> extensions,
                 std::shared_ptr<const policy::Profiles> profiles)
      : loop_(std::move(loop)),
        launcher_(std::move(launcher)),
        store_(loop_->get_executor()),
        engine_(loop_->get_executor(), store_,
                make_drivers(loop_->get_executor(), *launcher_, 0, std::move(engines),
                             std::move(extensions)),
                metrics_, system_clock(),
                {.asking = Asking::when_needed, .profiles = std::move(profiles)}) {}

  // The sandbox waits at the command's end while `at_end` looks at it from outside of the loop.
  Result<RunResult> run_and_look(cli::LocalRun run,
                                 const std::shared_ptr<SignalForwarder>& forwarder) {
    forwarder->hold_end();
    auto call = engine_.run(Caller(), std::move(run.sandbox), std::move(run.exec), "", forwarder,
                            forwarder->stop());
    const auto kept = begin(std::move(call), forwarder);
    TRY_OK(run_task(*loop_, forwarder->ended().wait()));
    if (forwarder->status() && !kept->has_value()) {
      EmbeddedChanges changes(*loop_, engine_, forwarder->sandbox());
      run.at_end(changes, *forwarder->status());
    }
    forwarder->release();
    return wait_for(kept, *forwarder);
  }

  // The result, once there is one.
  using Kept = std::shared_ptr<std::optional<Result<RunResult>>>;

  Kept begin(Task<RunResult> call, const std::shared_ptr<SignalForwarder>& forwarder) {
    auto kept = std::make_shared<std::optional<Result<RunResult>>>();
    spawn(loop_->get_executor(), keep(std::move(call), kept), [kept, forwarder](Result<> done) {
      if (!done) kept->emplace(std::move(done).error());
      forwarder->end_all();
    });
    return kept;
  }

  Result<RunResult> wait_for(const Kept& kept, SignalForwarder& forwarder) {
    TRY_OK(run_task(*loop_, forwarder.over().wait()));
    forwarder.cancel();
    is_left_ = !kept->has_value();
    if (is_left_) return interrupted(Error(Code::cancelled, "left alone"), forwarder.signal());
    return concluded(*std::move(*kept), forwarder);
  }

  Result<RunResult> concluded(Result<RunResult> result, const SignalForwarder& forwarder) const {
    if (!result) return interrupted(std::move(result).error(), forwarder.signal());
    result->stages.insert(result->stages.begin(), began_.begin(), began_.end());
    return result;
  }

  // A run that its own user gave up is a command that a signal ended, and no failure of ours.
  static Result<RunResult> interrupted(Error error, int signal) {
    if (error.code() != Code::cancelled || signal == 0) return error;
    RunResult result;
    result.exec.status.reason = ExitReason::killed;
    result.exec.status.signal = signal;
    result.exec.status.exit_code = 128 + signal;
    return result;
  }

  std::unique_ptr<asio::io_context> loop_;
  std::unique_ptr<native::LauncherClient> launcher_;
  store::MemoryStore store_;
  telemetry::Metrics metrics_;
  Engine engine_;
  std::vector<Stage> began_;
  bool is_left_ = false;  // calls are under way that nobody waits for
};

}  // namespace

Result<std::unique_ptr<cli::LocalEngine>> open_embedded_engine(
    std::shared_ptr<const policy::Profiles> profiles, const std::string& state_directory) {
  return EmbeddedEngine::create(std::move(profiles), state_directory);
}

}  // namespace atl::app
