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

#include "api/v1/output_sink.h"
#include "base/run_task.h"
#include "cli/frame_reader.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/raw_terminal.h"

namespace atl::cli {
namespace {

using api::v1::FrameKind;

constexpr std::string_view kFrames = "application/vnd.atoll.stream";
constexpr size_t kPieceBytes = 256 * 1024;

net::ClientRequest to_request(const Client& client, StreamRequest stream,
                              std::string_view accept = kFrames) {
  auto request = client.make_request(stream.method, std::move(stream.target));
  request.headers.add("Accept", accept);
  if (!stream.body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(stream.body);
  request.timeouts.total.reset();  // a command takes as long as it takes
  return request;
}

Error cut_off() {
  return Error(Code::unavailable, "the daemon broke off before the command had ended")
      .with_hint("was it stopped? what runs in a kept sandbox goes on: atoll ps, atoll logs BOX");
}

// Shared with the coroutines that it starts: whatever still waits when the stream has ended goes
// with the loop.
class Follower final : public std::enable_shared_from_this<Follower> {
 public:
  Follower(Client& client, Input input, Leaving leaving, std::unique_ptr<RawTerminal> raw)
      : client_(client),
        input_(input),
        leaving_(leaving),
        raw_(std::move(raw)),
        signals_(client.loop(), SIGINT, SIGTERM, SIGQUIT),
        out_(client.loop().get_executor(), STDOUT_FILENO),
        err_(client.loop().get_executor(), STDERR_FILENO),
        stdin_(client.loop()) {
    boost::system::error_code ignored;
    signals_.add(SIGHUP, ignored);
    if (raw_) signals_.add(SIGWINCH, ignored);
  }

  Task<StreamEnd> follow(net::ClientRequest request) {
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
    // How the command ended is not known then, so it must not look like success.
    if (!has_exit_) co_return cut_off();
    co_return std::move(end_);
  }

 private:
  Task<> receive(net::ClientRequest request) {
    CO_TRY(call_, co_await client_.begin(std::move(request)));
    CO_TRY_OK(co_await client_.expect_success(*call_));
    std::string buffer(kPieceBytes, '\0');
    for (;;) {
      const auto got = co_await call_->read_some(buffer.data(), buffer.size());
      if (!got && got.error().code() == Code::unavailable) co_return cut_off();
      if (!got) co_return got.error();
      if (*got == 0) break;
      frames_.add({buffer.data(), *got});
      for (;;) {
        CO_TRY(const auto piece, frames_.next());
        if (!piece) break;
        CO_TRY_OK(co_await on_piece(*piece));
      }
    }
    if (frames_.is_between_frames()) co_return Result<>();
    co_return cut_off();
  }

  Task<> on_piece(FramePiece piece) {
    switch (static_cast<FrameKind>(piece.kind)) {
      case FrameKind::out:
        co_return co_await out_.write(piece.bytes);
      case FrameKind::err:
        co_return co_await err_.write(piece.bytes);
      case FrameKind::start:
        co_return on_start(piece.bytes);
      case FrameKind::exit: {
        CO_TRY(end_.exit, parse_answer(piece.bytes));
        has_exit_ = true;
        co_return Result<>();
      }
      case FrameKind::gap: {
        CO_TRY(const auto gap, parse_answer(piece.bytes));
        const double lost = number_at(gap, "to") - number_at(gap, "from");
        const std::string notice =
            fmt::format("atoll: {:.0f} bytes of {} are lost: nobody read them in time\n", lost,
                        text_at(gap, "stream"));
        co_return co_await err_.write(notice);
      }
      case FrameKind::error: {
        std::string ignored;
        co_return problem_to_error(500, piece.bytes, ignored);
      }
    }
    co_return Result<>();  // a kind that a newer daemon knows
  }

  Result<> on_start(std::string_view bytes) {
    TRY(const auto start, parse_answer(bytes));
    end_.sandbox = text_at(start, "sandbox");
    end_.process = static_cast<uint64_t>(number_at(start, "process"));
    if (input_ != Input::none) {
      spawn(client_.loop().get_executor(), forward_stdin(shared_from_this()));
    }
    // What runs there already draws itself anew.
    if (raw_) spawn(client_.loop().get_executor(), send_size(shared_from_this()));
    return {};
  }

  std::string process_path(std::string_view rest) const {
    return sandbox_path(end_.sandbox, fmt::format("/processes/{}/{}", end_.process, rest));
  }

  // Errors end it in silence: a command may stop reading whenever it likes, and how it ended is
  // told by the stream.
  static Task<> forward_stdin(std::shared_ptr<Follower> self) {
    auto request = self->client_.make_request(net::Method::post, self->process_path("stdin"));
    request.headers.add("Content-Type", "application/octet-stream");
    request.timeouts.total.reset();
    const net::RequestBody body{net::RequestBody::Kind::chunked, 0};
    CO_TRY(const auto call, co_await self->client_.begin(std::move(request), body));

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
        self->call_->cancel();
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
      if (end_.process != 0) spawn(client_.loop().get_executor(), send_size(shared_from_this()));
      return;
    }
    if (first_signal_ == 0) first_signal_ = number;
    if (number == SIGINT) ++interrupts_;
    if (interrupts_ > 2) leave(number);
    if (end_.process == 0) {
      // Nothing runs yet that could take a signal; the daemon gives up what it is doing when we
      // leave.
      if (call_) return call_->cancel();
      leave(number);
    }
    const int passed_on = interrupts_ == 2 ? SIGKILL : number;
    spawn(client_.loop().get_executor(), send_signal(shared_from_this(), passed_on));
  }

  [[noreturn]] void leave(int number) {
    raw_.reset();
    _exit(128 + number);
  }

  static Task<> send_size(std::shared_ptr<Follower> self) {
    const TerminalSize size = terminal_size();
    auto request = self->client_.make_request(net::Method::post, self->process_path("resize"));
    request.headers.add("Content-Type", "application/json");
    request.body = fmt::format(R"({{"rows":{},"cols":{}}})", size.rows, size.columns);
    CO_TRY_OK(co_await self->client_.exchange(std::move(request)));
    co_return Result<>();
  }

  static Task<> send_signal(std::shared_ptr<Follower> self, int number) {
    auto request = self->client_.make_request(net::Method::post, self->process_path("signal"));
    request.headers.add("Content-Type", "application/json");
    request.body = fmt::format(R"({{"signal":"SIG{}"}})", sigabbrev_np(number));
    CO_TRY_OK(co_await self->client_.exchange(std::move(request)));
    co_return Result<>();
  }

  StreamEnd ended_by_signal() {
    const std::string exit = fmt::format(R"({{"exit_code":{},"signal":{},"reason":"signaled"}})",
                                         128 + first_signal_, first_signal_);
    if (auto value = json::parse(exit)) end_.exit = *std::move(value);
    return std::move(end_);
  }

  Client& client_;
  Input input_;
  Leaving leaving_;
  std::unique_ptr<RawTerminal> raw_;
  LeaveKeys leave_keys_;
  asio::signal_set signals_;
  OutputPipe out_;
  OutputPipe err_;
  asio::posix::stream_descriptor stdin_;
  std::unique_ptr<net::ClientCall> call_;
  FrameReader frames_;
  StreamEnd end_;
  bool has_exit_ = false;
  int first_signal_ = 0;
  int interrupts_ = 0;
};

Task<StreamEnd> read_start(Client& client, net::ClientRequest request) {
  CO_TRY(const auto call, co_await client.begin(std::move(request)));
  CO_TRY_OK(co_await client.expect_success(*call));
  std::string buffer(4'096, '\0');
  FrameReader frames;
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return Error(Code::unavailable, "the daemon broke off");
    frames.add({buffer.data(), got});
    CO_TRY(const auto piece, frames.next());
    if (!piece) continue;
    CO_TRY(const auto start, parse_answer(piece->bytes));
    co_return StreamEnd{
        text_at(start, "sandbox"), static_cast<uint64_t>(number_at(start, "process")), {}};
  }
}

Task<> copy(Client& client, net::ClientRequest request) {
  OutputPipe out(client.loop().get_executor(), STDOUT_FILENO);
  CO_TRY(const auto call, co_await client.begin(std::move(request)));
  CO_TRY_OK(co_await client.expect_success(*call));
  std::string buffer(kPieceBytes, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return Result<>();
    const std::string_view piece(buffer.data(), got);
    CO_TRY_OK(co_await out.write(piece));
  }
}

}  // namespace

Result<> copy_stream(Client& client, StreamRequest request, std::string_view accept) {
  return run_task(client.loop(), copy(client, to_request(client, std::move(request), accept)));
}

Result<StreamEnd> follow_stream(Client& client, StreamRequest request) {
  std::unique_ptr<RawTerminal> raw;
  if (request.input == Input::terminal) {
    TRY(raw, RawTerminal::enter());
  }
  const auto follower =
      std::make_shared<Follower>(client, request.input, request.leaving, std::move(raw));
  return run_task(client.loop(), follower->follow(to_request(client, std::move(request))));
}

Result<StreamEnd> start_detached(Client& client, StreamRequest request) {
  return run_task(client.loop(), read_start(client, to_request(client, std::move(request))));
}

}  // namespace atl::cli
