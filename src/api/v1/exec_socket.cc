// Commands over a WebSocket (protocol atoll.exec.v1): one connection for output, stdin, signals and
// the size of the terminal.
//
// GET /v1/sandboxes/{id}/exec: the client's first message is {"exec":{…}}, what POST …/exec takes.
// GET /v1/sandboxes/{id}/processes/{process}/attach: back to one that runs.
// Then the client sends stdin as binary messages, and as text {"resize":{"rows":24,"cols":80}},
// {"signal":"SIGINT"}, {"eof":true}. It gets output as binary messages whose first byte is the
// stream (1 stdout, 2 stderr), and as text the lines of application/x-ndjson: start, gap, exit,
// error.
#include <csignal>
#include <deque>

#include <boost/asio/this_coro.hpp>

#include "api/body.h"
#include "api/parameters.h"
#include "api/v1/follow.h"
#include "api/v1/handlers.h"
#include "api/v1/signal_name.h"
#include "core/exec_account.h"
#include "net/event.h"

namespace atl::api::v1 {
namespace {

constexpr const char* kProtocol = "atoll.exec.v1";
constexpr auto kFirstMessage = std::chrono::seconds(30);
// So much stdin may wait for the command before no more is taken from the client.
constexpr size_t kMostQueued = 1 << 20;

struct WireMessage {
  std::optional<WireExec> exec;
  std::optional<WireTerminal> resize;
  std::optional<json::Value> signal;
  std::optional<bool> eof;
};
BOOST_DESCRIBE_STRUCT(WireMessage, (), (exec, resize, signal, eof))

using Socket = std::shared_ptr<net::WebSocket>;

class SocketSink final : public OutputSink {
 public:
  SocketSink(Socket socket, RequestIds ids) : socket_(std::move(socket)), ids_(std::move(ids)) {}

  Task<> start(StartFacts facts) override {
    facts_ = std::move(facts);
    co_return co_await tell("start", [&](ObjectWriter& o) { append_start(o, facts_, ids_); });
  }

  Task<> output(Output output) override {
    output.bytes.insert(output.bytes.begin(), static_cast<char>(output.stream));
    co_return co_await socket_->send(net::MessageKind::binary, std::move(output.bytes));
  }

  Task<> gap(OutputGap gap) override {
    truncated_ = Truncated::yes;
    co_return co_await tell("gap", [&](ObjectWriter& o) { append_gap(o, gap); });
  }

  Task<> end(ExitStatus status, std::optional<RunFacts> run) override {
    CO_TRY_OK(co_await tell("exit", [&](ObjectWriter& object) {
      append_end(object, facts_, status, truncated_, run, ids_);
    }));
    co_return co_await socket_->close(net::CloseCode::normal, "");
  }

  Task<> fail(Error error) override {
    CO_TRY_OK(co_await tell("error", [&](ObjectWriter& object) {
      append_problem(object.key("problem"), Problem(std::move(error)), ids_);
    }));
    co_return co_await socket_->close(net::CloseCode::normal, "");
  }

 private:
  template <typename Fill>
  Task<> tell(std::string_view type, Fill fill) {  // awaited at once
    std::string line;
    ObjectWriter object(line);
    object.member("type", type);
    fill(object);
    object.close();
    co_return co_await socket_->send(net::MessageKind::text, std::move(line));
  }

  Socket socket_;
  RequestIds ids_;
  StartFacts facts_;
  Truncated truncated_ = Truncated::no;
};

// What both sides of the conversation share; whoever still works holds on to it.
struct Conversation {
  Conversation(const asio::any_io_executor& executor, Socket with, GuestLease in,
               std::shared_ptr<Process> about)
      : socket(std::move(with)),
        lease(std::move(in)),
        process(std::move(about)),
        more(executor),
        room(executor) {}

  Socket socket;
  GuestLease lease;
  std::shared_ptr<Process> process;
  OnDisconnect on_disconnect = OnDisconnect::keep;

  std::deque<std::string> input;  // an empty one is the end of it
  size_t queued = 0;
  net::Event more;  // something is in `input`, or nothing will be any more
  net::Event room;  // `queued` is small again
  bool over = false;
  std::optional<Error> broken;  // what the client did wrong

  void put(std::string bytes) {
    queued += bytes.size();
    input.push_back(std::move(bytes));
    more.set();
  }
};
using ConversationPtr = std::shared_ptr<Conversation>;

// Apart from the reading, so that a signal is not held up by a command that does not read.
Task<> feed(ConversationPtr talk) {
  for (;;) {
    while (talk->input.empty()) {
      if (talk->over) co_return Result<>();
      talk->more.reset();
      co_await talk->more.wait();
    }
    std::string bytes = std::move(talk->input.front());
    talk->input.pop_front();
    talk->queued -= bytes.size();
    if (talk->queued < kMostQueued) talk->room.set();
    // A command may stop reading whenever it likes; how it ended is told by its exit.
    if (bytes.empty()) {
      [[maybe_unused]] const auto closed = co_await talk->process->close_stdin();
    } else {
      [[maybe_unused]] const auto written = co_await talk->process->write_stdin(std::move(bytes));
    }
  }
}

Task<> obey(ConversationPtr talk, std::string text) {
  CO_TRY(const auto message, detail::decode_body<WireMessage>(text, kMostJson));
  if (message.exec) {
    co_return Error(Code::invalid_argument, "exec: it comes first, and once").at_stage("request");
  }
  const ProcessId process = talk->process->id();
  if (message.resize) {
    CO_TRY(const auto size, to_size(*message.resize));
    CO_TRY_OK(co_await talk->lease->resize(process, size));
  }
  if (message.signal) {
    CO_TRY(const int number, to_signal(*message.signal));
    CO_TRY_OK(co_await talk->lease->signal(process, number));
  }
  if (message.eof.value_or(false)) talk->put("");
  co_return Result<>();
}

Task<> hear(ConversationPtr talk) {
  for (;;) {
    CO_TRY(auto message, co_await talk->socket->receive());
    if (message.kind == net::MessageKind::binary) {
      if (!message.bytes.empty()) talk->put(std::move(message.bytes));
    } else {
      auto obeyed = co_await obey(talk, std::move(message.bytes));
      // A process that has just ended cannot be told anything: no reason to break off.
      if (!obeyed && obeyed.error().code() == Code::invalid_argument) {
        talk->broken = obeyed.error();
        co_return std::move(obeyed).error();
      }
    }
    while (talk->queued >= kMostQueued && !talk->over) {
      talk->room.reset();
      co_await talk->room.wait();
    }
  }
}

Task<> kill(GuestLease lease, ProcessId process) {
  co_return co_await lease->signal(process, SIGKILL);
}

void on_client_gone(const asio::any_io_executor& executor, const ConversationPtr& talk) {
  const bool kills = talk->on_disconnect == OnDisconnect::kill && !talk->over;
  talk->over = true;
  talk->more.set();
  if (kills) {
    spawn(executor, kill(talk->lease, talk->process->id()));
  } else {
    talk->process->interrupt();
  }
}

Task<ExitStatus> pump(ConversationPtr talk, OutputSink& sink, ExecAccount* account) {
  for (;;) {
    CO_TRY(auto event, co_await talk->process->next());
    if (const auto* status = std::get_if<ExitStatus>(&event)) co_return *status;
    if (auto* output = std::get_if<Output>(&event)) {
      if (account != nullptr) account->on(ExecStep::output);
      CO_TRY_OK(co_await sink.output(std::move(*output)));
    } else {
      CO_TRY_OK(co_await sink.gap(std::get<OutputGap>(event)));
    }
  }
}

Task<ExitStatus> converse(Call& call, ConversationPtr talk, OutputSink& sink,
                          ExecAccount* account) {
  const auto executor = co_await asio::this_coro::executor;
  CO_TRY_OK(co_await sink.start({call.sandbox(), talk->process->id(), talk->process->pid()}));
  spawn(executor, feed(talk), [talk](Result<>) {});
  spawn(executor, hear(talk), [talk, executor](Result<>) { on_client_gone(executor, talk); });
  auto status = co_await pump(talk, sink, account);
  talk->over = true;
  talk->more.set();
  talk->room.set();
  if (!status && talk->broken) co_return *talk->broken;
  co_return status;
}

struct Begun {
  GuestLease lease;
  std::shared_ptr<Process> process;
  std::string stdin_bytes;
  AfterStdin after_stdin = AfterStdin::leave_open;
  std::unique_ptr<ExecAccount> account;  // null for one that was there before
};

Task<Begun> begin_exec(Call& call, net::WebSocket& socket) {
  socket.set_read_deadline(std::chrono::steady_clock::now() + kFirstMessage);
  CO_TRY(auto first, co_await socket.receive());
  socket.set_read_deadline(std::nullopt);
  CO_TRY(auto message, detail::decode_body<WireMessage>(first.bytes, kMostJson));
  if (!message.exec || first.kind != net::MessageKind::text) {
    co_return Error(Code::invalid_argument, "exec: the first message says what to run")
        .with_hint(R"({"exec":{"argv":["bash"],"tty":{}}})")
        .at_stage("request");
  }
  // Whoever opens a connection of its own for it means to write, unless it says otherwise.
  if (!message.exec->stdin_open) message.exec->stdin_open = true;
  CO_TRY(auto plan, to_plan(*std::move(message.exec)));
  CO_TRY(const auto view, call.engine().get(call.caller(), call.sandbox()));
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), view.id));
  CO_TRY(auto request, call.engine().complete(call.caller(), view.id, std::move(plan.request)));
  auto account = std::make_unique<ExecAccount>(call.caller(), call.metrics(), view.driver, view.id);
  account->begin(request);
  auto started = co_await lease->start(std::move(request));
  if (!started) {
    account->on_failed(started.error());
    co_return std::move(started).error().at_stage("exec");
  }
  account->on(ExecStep::started);
  co_return Begun{std::move(lease), *std::move(started), std::move(plan.stdin_bytes),
                  plan.after_stdin, std::move(account)};
}

Task<> serve(Call& call, Socket socket, Result<Begun> begun, OnDisconnect on_disconnect) {
  SocketSink sink(socket, call.ids());
  if (!begun) co_return co_await sink.fail(std::move(begun).error());
  const auto executor = co_await asio::this_coro::executor;
  const auto talk = std::make_shared<Conversation>(executor, socket, std::move(begun->lease),
                                                   std::move(begun->process));
  talk->on_disconnect = on_disconnect;
  if (!begun->stdin_bytes.empty()) talk->put(std::move(begun->stdin_bytes));
  if (begun->after_stdin == AfterStdin::close) talk->put("");
  ExecAccount* const account = begun->account.get();
  auto status = co_await converse(call, talk, sink, account);
  if (!status) {
    if (account != nullptr) account->on_failed(status.error());
    co_return co_await sink.fail(std::move(status).error().at_stage("exec"));
  }
  if (account != nullptr) account->on_ended(*status);
  co_return co_await sink.end(*status, std::nullopt);
}

}  // namespace

Task<> exec_socket(Call& call) {
  CO_TRY(const auto on_disconnect, read_on_disconnect(call.request()));
  CO_TRY_OK(call.engine().get(call.caller(), call.sandbox()));
  CO_TRY(Socket socket, co_await call.accept_websocket(kProtocol));
  auto begun = co_await begin_exec(call, *socket);
  co_return co_await serve(call, std::move(socket), std::move(begun), on_disconnect);
}

Task<> attach_socket(Call& call) {
  const auto& query = call.request().query;
  CO_TRY(const auto id, call.process());
  CO_TRY(const auto from_out, read_number(query, "stdout_offset", UINT64_MAX));
  CO_TRY(const auto from_err, read_number(query, "stderr_offset", UINT64_MAX));
  CO_TRY(const auto on_disconnect, read_on_disconnect(call.request()));
  CO_TRY(auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(auto attached, co_await lease->attach(id, {from_out.value_or(0), from_err.value_or(0)}));
  CO_TRY(Socket socket, co_await call.accept_websocket(kProtocol));
  Begun begun{std::move(lease), std::move(attached), "", AfterStdin::leave_open, nullptr};
  co_return co_await serve(call, std::move(socket), std::move(begun), on_disconnect);
}

}  // namespace atl::api::v1
