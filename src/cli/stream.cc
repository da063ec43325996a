#include "cli/stream.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/run_task.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/raw_terminal.h"

namespace atl::cli {
namespace {

using net::FrameKind;

constexpr size_t kPieceBytes = 256 * 1024;

// Shared with the coroutines that it starts: whatever still waits when the stream has ended goes
// with the loop.
class Follower final : public std::enable_shared_from_this<Follower> {
 public:
  Follower(Client& client, Input input, Leaving leaving, std::unique_ptr<RawTerminal> raw,
           std::function<void()> on_started)
      : connection_(client.connection()),
        input_(input),
        leaving_(leaving),
        raw_(std::move(raw)),
        on_started_(std::move(on_started)),
        signals_(client.loop(), SIGINT, SIGTERM, SIGQUIT),
        out_(client.loop().get_executor(), STDOUT_FILENO),
        err_(client.loop().get_executor(), STDERR_FILENO),
        stdin_(client.loop()) {
    boost::system::error_code ignored;
    signals_.add(SIGHUP, ignored);
    signals_.add(SIGTSTP, ignored);
    if (raw_) signals_.add(SIGWINCH, ignored);
  }

  Task<StreamEnd> follow(client::ExecStreamRequest request) {
    const auto self = shared_from_this();
    wait_for_signal();
    auto ended = co_await receive(std::move(request));
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    raw_.reset();
    if (end_.left) co_return std::move(end_);
    if (!ended) {
      if (first_signal_ != 0 && !has_exit_) co_return ended_by_signal();
      co_return std::move(ended).error();
    }
    co_return std::move(end_);
  }

 private:
  Task<> receive(client::ExecStreamRequest request) {
    CO_TRY(stream_, co_await client::ExecStream::open(connection_, std::move(request)));
    for (;;) {
      CO_TRY(auto event, co_await stream_->next());
      if (!event) co_return Result<>();
      CO_TRY_OK(co_await on_event(*std::move(event)));
    }
  }

  Task<> on_event(client::ExecEvent event) {
    switch (event.kind) {
      case FrameKind::out:
        co_return co_await out_.write(event.bytes);
      case FrameKind::err:
        co_return co_await err_.write(event.bytes);
      case FrameKind::start:
        on_start(client::started_process(event.value));
        break;
      case FrameKind::exit:
        end_.exit = std::move(event.value);
        has_exit_ = true;
        break;
      case FrameKind::gap: {
        const double lost = number_at(event.value, "to") - number_at(event.value, "from");
        const std::string notice =
            fmt::format("atoll: {:.0f} bytes of {} are lost: nobody read them in time\n", lost,
                        text_at(event.value, "stream"));
        co_return co_await err_.write(notice);
      }
      case FrameKind::error:
        break;
    }
    co_return Result<>();
  }

  void on_start(client::ProcessRef started) {
    end_.started = std::move(started);
    if (on_started_) on_started_();
    if (input_ != Input::none) spawn(connection_.executor(), forward_stdin(shared_from_this()));
    // What runs there already draws itself anew.
    if (raw_) spawn(connection_.executor(), send_size(shared_from_this()));
  }

  // Errors end it in silence: a command may stop reading whenever it likes, and how it ended is
  // told by the stream.
  static Task<> forward_stdin(std::shared_ptr<Follower> self) {
    CO_TRY(const auto call, co_await client::open_stdin(self->connection_, self->end_.started));
    CO_TRY(Fd input, open_stdin());
    boost::system::error_code failure;
    self->stdin_.assign(input.release(), failure);
    std::string buffer(kPieceBytes, '\0');
    while (self->stdin_.is_open()) {
      // What epoll cannot watch, a plain file, is always ready; the wait then fails at once.
      co_await self->stdin_.async_wait(asio::posix::stream_descriptor::wait_read,
                                       asio::redirect_error(asio::use_awaitable, failure));
      const ssize_t got = read(self->stdin_.native_handle(), buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) break;
      std::string piece(buffer.data(), static_cast<size_t>(got));
      const bool can_leave = self->raw_ && self->leaving_ == Leaving::keeps;
      if (can_leave) piece = self->leave_keys_.pass(piece);
      if (!piece.empty()) {
        CO_TRY_OK(co_await call->write(piece));
      }
      if (can_leave && self->leave_keys_.are_complete()) {
        self->end_.left = true;
        self->stream_->cancel();
        co_return Result<>();  // breaking off is not the end of its stdin
      }
    }
    CO_TRY_OK(co_await call->finish());
    co_return co_await call->receive();
  }

  void wait_for_signal() {
    signals_.async_wait(
        [self = shared_from_this()](const boost::system::error_code& failure, int number) {
          if (failure) return;
          self->on_signal(number);
          self->wait_for_signal();
        });
  }

  void on_signal(int number) {
    if (number == SIGWINCH) {
      if (end_.started.process != 0) spawn(connection_.executor(), send_size(shared_from_this()));
      return;
    }
    if (number == SIGTSTP) return spawn(connection_.executor(), suspend(shared_from_this()));
    if (first_signal_ == 0) first_signal_ = number;
    if (number == SIGINT) ++interrupts_;
    if (interrupts_ > 2) leave(number);
    if (end_.started.process == 0) {
      // Nothing runs yet that could take a signal; the daemon gives up what it is doing when we
      // leave.
      if (stream_) return stream_->cancel();
      leave(number);
    }
    const int passed_on = interrupts_ == 2 ? SIGKILL : number;
    spawn(connection_.executor(), send_signal(shared_from_this(), passed_on));
  }

  // Ctrl-Z stops the command with us, and it goes on with us. One that has a terminal has its own.
  static Task<> suspend(std::shared_ptr<Follower> self) {
    if (self->raw_ || self->end_.started.process == 0) {
      if (self->raw_) self->raw_->give_back();
      stop_for_a_while();
      if (self->raw_) self->raw_->take_again();
      co_return Result<>();
    }
    // A command that has ended meanwhile cannot be told.
    const auto stopped = co_await send_signal(self, SIGSTOP);
    static_cast<void>(stopped);
    stop_for_a_while();
    co_return co_await send_signal(self, SIGCONT);
  }

  [[noreturn]] void leave(int number) {
    raw_.reset();
    _exit(128 + number);
  }

  static Task<> send_size(std::shared_ptr<Follower> self) {
    const TerminalSize size = terminal_size();
    co_return co_await client::resize_terminal(self->connection_, self->end_.started, size.rows,
                                               size.columns);
  }

  static Task<> send_signal(std::shared_ptr<Follower> self, int number) {
    const std::string name = std::string("SIG") + sigabbrev_np(number);
    co_return co_await client::send_signal(self->connection_, self->end_.started, name);
  }

  StreamEnd ended_by_signal() {
    const std::string exit = fmt::format(R"({{"exit_code":{},"signal":{},"reason":"signaled"}})",
                                         128 + first_signal_, first_signal_);
    if (auto value = json::parse(exit)) end_.exit = *std::move(value);
    return std::move(end_);
  }

  client::Connection& connection_;
  Input input_;
  Leaving leaving_;
  std::unique_ptr<RawTerminal> raw_;
  std::function<void()> on_started_;
  LeaveKeys leave_keys_;
  asio::signal_set signals_;
  OutputPipe out_;
  OutputPipe err_;
  asio::posix::stream_descriptor stdin_;
  std::unique_ptr<client::ExecStream> stream_;
  StreamEnd end_;
  bool has_exit_ = false;
  int first_signal_ = 0;
  int interrupts_ = 0;
};

Task<client::ProcessRef> read_start(client::Connection& connection,
                                    client::ExecStreamRequest request) {
  CO_TRY(const auto stream, co_await client::ExecStream::open(connection, std::move(request)));
  CO_TRY(const auto event, co_await stream->next());
  co_return event ? client::started_process(event->value) : client::ProcessRef{};
}

Task<> copy(Client& client, net::ClientRequest request) {
  OutputPipe out(client.loop().get_executor(), STDOUT_FILENO);
  CO_TRY(const auto call, co_await client.connection().begin(std::move(request)));
  CO_TRY_OK(co_await client.connection().expect_success(*call));
  const ReaderWatch reader(client.loop().get_executor(), [&] { call->cancel(); });
  std::string buffer(kPieceBytes, '\0');
  for (;;) {
    const auto got = co_await call->read_some(buffer.data(), buffer.size());
    if (!got) co_return reader.is_gone() ? output_gone() : got.error();
    if (*got == 0) co_return Result<>();
    const std::string_view piece(buffer.data(), *got);
    CO_TRY_OK(co_await out.write(piece));
  }
}

}  // namespace

Result<> copy_stream(Client& client, std::string target, std::string_view accept) {
  auto request = client.connection().make_request(net::Method::get, std::move(target));
  request.headers.add("Accept", accept);
  request.timeouts.total.reset();  // it takes as long as it takes
  return run_task(client.loop(), copy(client, std::move(request)));
}

Result<StreamEnd> follow_stream(Client& client, StreamRequest request) {
  std::unique_ptr<RawTerminal> raw;
  if (request.input == Input::terminal) {
    TRY(raw, RawTerminal::enter());
  }
  const auto follower = std::make_shared<Follower>(client, request.input, request.leaving,
                                                   std::move(raw), std::move(request.on_started));
  return run_task(client.loop(), follower->follow(std::move(request.exec)));
}

Result<client::ProcessRef> start_detached(Client& client, client::ExecStreamRequest request) {
  return run_task(client.loop(), read_start(client.connection(), std::move(request)));
}

}  // namespace atl::cli
