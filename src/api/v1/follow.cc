#include "api/v1/follow.h"

#include <csignal>

#include <boost/asio/this_coro.hpp>

#include "api/parameters.h"

namespace atl::api::v1 {
namespace {

// What the pump, the feeder and the hook on the client's leaving share.
struct Attendance {
  bool client_gone = false;
  bool feeding = false;
  std::shared_ptr<Process> process;
  std::optional<ExitStatus> status;
  ExecAccount* account = nullptr;

  // A process whose output nobody takes stands still, and then does not read its stdin either: so
  // the pump goes on, without a client, as long as stdin is being fed.
  void stop_if_unattended() {
    if (client_gone && !feeding) process->interrupt();
  }
};

Task<> kill(GuestLease lease, ProcessId process) {
  co_return co_await lease->signal(process, SIGKILL);
}

Task<> pump(std::shared_ptr<Process> process, OutputSink& sink,
            std::shared_ptr<Attendance> attendance) {
  for (;;) {
    CO_TRY(auto event, co_await process->next());
    if (const auto* status = std::get_if<ExitStatus>(&event)) {
      attendance->status = *status;
      co_return Result<>();
    }
    if (attendance->account != nullptr && std::holds_alternative<Output>(event))
      attendance->account->on(ExecStep::output);
    if (attendance->client_gone) continue;
    Result<> told;
    if (auto* output = std::get_if<Output>(&event)) {
      told = co_await sink.output(std::move(*output));
    } else {
      told = co_await sink.gap(std::get<OutputGap>(event));
    }
    if (told) continue;
    attendance->client_gone = true;
    if (!attendance->feeding) co_return std::move(told).error();
  }
}

}  // namespace

Result<OnDisconnect> read_on_disconnect(const net::Request& request) {
  TRY(const auto choice, read_choice<OnDisconnect>(request.query, "on_disconnect"));
  return choice.value_or(OnDisconnect::keep);
}

Task<ExitStatus> follow(Call& call, Followed followed, OutputSink& sink) {
  const auto executor = co_await asio::this_coro::executor;
  const auto attendance = std::make_shared<Attendance>();
  const auto process = std::move(followed.process);
  attendance->process = process;
  attendance->account = followed.account;

  if (!followed.stdin_bytes.empty()) {
    attendance->feeding = true;
    spawn(executor, feed_stdin(process, std::move(followed.stdin_bytes), followed.after_stdin),
          [attendance, lease = followed.lease](Result<>) {
            attendance->feeding = false;
            attendance->stop_if_unattended();
          });
  }
  const auto on_disconnect = followed.on_disconnect;
  call.exchange().on_closed([=, lease = followed.lease] {
    attendance->client_gone = true;
    if (on_disconnect == OnDisconnect::keep) return attendance->stop_if_unattended();
    spawn(executor, kill(lease, process->id()));
  });

  auto begun = co_await sink.start({call.sandbox(), process->id(), process->pid()});
  if (!begun) attendance->client_gone = true;
  CO_TRY_OK(co_await pump(process, sink, attendance));
  if (attendance->client_gone) co_return Error(Code::cancelled, "the client went away");
  co_return *attendance->status;
}

}  // namespace atl::api::v1
