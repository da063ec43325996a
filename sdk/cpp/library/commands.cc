// The calls that run commands.
#include <fmt/core.h>

#include "client/answer.h"
#include "client/exec_stream.h"
#include "json/encode.h"
#include "library/plan.h"
#include "library/wire.h"

namespace atoll_client::calls {
namespace {

using atl::Result;
using atl::Task;
using atl::client::ExecStream;
using atl::client::ExecStreamRequest;
using atl::client::ProcessRef;
using atl::net::FrameKind;

ProcessRef to_ref(const Process& process) { return {process.sandbox, process.id}; }

// Keeps the output, or tells it.
class Output final {
 public:
  Output(size_t keep, OnOutput on_output) : keep_(keep), on_output_(std::move(on_output)) {}

  Result<> take(Caller& caller, Stream stream, std::string_view bytes) {
    if (on_output_) return call_user(caller, [&] { on_output_(stream, bytes); });
    std::string& kept = stream == Stream::out ? out_ : err_;
    const std::string_view fits = bytes.substr(0, keep_ - std::min(keep_, kept.size()));
    kept += fits;
    if (fits.size() < bytes.size()) is_cut_ = true;
    return {};
  }
  void note_gap() { is_cut_ = true; }

  void give(Outcome& outcome) && {
    outcome.out = std::move(out_);
    outcome.err = std::move(err_);
    outcome.truncated = is_cut_;
  }

 private:
  size_t keep_;
  OnOutput on_output_;
  std::string out_, err_;
  bool is_cut_ = false;
};

Task<Outcome> follow(Caller& caller, ExecStreamRequest request, Output output) {
  request.total = caller.longest_stream;
  CO_TRY(const auto stream, co_await ExecStream::open(caller.connection, std::move(request)));
  Outcome outcome;
  std::string sandbox;
  for (;;) {
    CO_TRY(const auto event, co_await stream->next());
    if (!event) break;
    switch (event->kind) {
      case FrameKind::out:
        CO_TRY_OK(output.take(caller, Stream::out, event->bytes));
        break;
      case FrameKind::err:
        CO_TRY_OK(output.take(caller, Stream::err, event->bytes));
        break;
      case FrameKind::start:
        sandbox = atl::client::text_at(event->value, "sandbox");
        break;
      case FrameKind::exit:
        outcome = to_outcome(event->value);
        break;
      case FrameKind::gap:
        output.note_gap();
        break;
      case FrameKind::error:
        break;
    }
  }
  outcome.sandbox = std::move(sandbox);
  std::move(output).give(outcome);
  co_return outcome;
}

Task<Outcome> run_it(Caller& caller, Command command, Settings settings, OnOutput on_output) {
  CO_TRY(auto exec, to_wire(command, Stdin::given));
  CO_TRY(auto sandbox, to_wire(settings));
  const atl::json::Object body{{"sandbox", std::move(sandbox)}, {"exec", std::move(exec)}};
  ExecStreamRequest request{.target = "/v1/runs", .body = to_text(body)};
  co_return co_await follow(caller, std::move(request), Output(command.keep, std::move(on_output)));
}

Task<Outcome> run_code_of(Caller& caller, Code code, Settings settings, OnOutput on_output) {
  CO_TRY(const auto body, to_wire(code, settings));
  ExecStreamRequest request{.target = "/v1/runs", .body = to_text(body)};
  Output output(code.with.keep, std::move(on_output));
  co_return co_await follow(caller, std::move(request), std::move(output));
}

Task<Outcome> exec_it(Caller& caller, std::string id, Command command, OnOutput on_output) {
  CO_TRY(const auto body, to_wire(command, Stdin::given));
  ExecStreamRequest request{.target = atl::client::sandbox_path(id, "/exec?on_disconnect=kill"),
                            .body = to_text(body)};
  co_return co_await follow(caller, std::move(request), Output(command.keep, std::move(on_output)));
}

Task<Process> spawn_it(Caller& caller, std::string id, Command command) {
  CO_TRY(const auto body, to_wire(command, Stdin::open));
  ExecStreamRequest request{.target = atl::client::sandbox_path(id, "/exec?on_disconnect=keep"),
                            .body = to_text(body),
                            .total = caller.longest_stream};
  CO_TRY(const auto stream, co_await ExecStream::open(caller.connection, std::move(request)));
  CO_TRY(const auto event, co_await stream->next());
  if (!event || event->kind != FrameKind::start)
    co_return atl::Error(atl::Code::unavailable, "the daemon does not say what it has started");
  auto started = atl::client::started_process(event->value);
  co_return Process{std::move(started.sandbox), started.process};
}

Task<Outcome> attach_to(Caller& caller, Process process, OnOutput on_output, Offsets from) {
  const std::string query =
      fmt::format("output?stdout_offset={}&stderr_offset={}", from.out, from.err);
  ExecStreamRequest request{.method = atl::net::Method::get,
                            .target = atl::client::process_path(to_ref(process), query)};
  co_return co_await follow(caller, std::move(request),
                            Output(Command{}.keep, std::move(on_output)));
}

ProcessInfo to_process(const atl::json::Value& value) {
  ProcessInfo info;
  info.id = atl::client::count_at(value, "process");
  info.pid = static_cast<int>(std::min<uint64_t>(atl::client::count_at(value, "pid"), INT32_MAX));
  for (const auto& word : atl::client::list_at(value, "argv")) {
    if (const auto* text = word.if_string()) info.argv.emplace_back(*text);
  }
  info.started_at = atl::client::text_at(value, "started_at");
  info.running = atl::client::flag_at(value, "running");
  info.has_terminal = atl::client::flag_at(value, "tty");
  return info;
}

Task<std::vector<ProcessInfo>> fetch_processes(Caller& caller, std::string id) {
  CO_TRY(const std::string text,
         co_await caller.connection.get(atl::client::sandbox_path(id, "/processes")));
  CO_TRY(const auto answer, atl::client::parse_answer(text));
  std::vector<ProcessInfo> all;
  for (const auto& one : atl::client::list_at(answer, "processes")) all.push_back(to_process(one));
  co_return all;
}

Task<> write_it(Caller& caller, Process process, std::string bytes, InputEnd then) {
  auto request = caller.connection.make_request(
      atl::net::Method::post,
      atl::client::process_path(to_ref(process),
                                then == InputEnd::open ? "stdin?eof=false" : "stdin"));
  request.headers.add("Content-Type", "application/octet-stream");
  request.body = std::move(bytes);
  CO_TRY_OK(co_await caller.connection.exchange(std::move(request)));
  co_return Result<>();
}

}  // namespace

Call<Outcome> run(Command command, Settings settings, OnOutput on_output) {
  return make_call<Outcome>(
      [=](Caller& caller) { return run_it(caller, command, settings, on_output); });
}

Call<Outcome> run_code(Code code, Settings settings, OnOutput on_output) {
  return make_call<Outcome>(
      [=](Caller& caller) { return run_code_of(caller, code, settings, on_output); });
}

Call<Outcome> exec(std::string id, Command command, OnOutput on_output) {
  return make_call<Outcome>(
      [=](Caller& caller) { return exec_it(caller, id, command, on_output); });
}

Call<Process> spawn(std::string id, Command command) {
  return make_call<Process>([=](Caller& caller) { return spawn_it(caller, id, command); });
}

Call<Outcome> attach(Process process, OnOutput on_output, Offsets from) {
  return make_call<Outcome>(
      [=](Caller& caller) { return attach_to(caller, process, on_output, from); });
}

Call<std::vector<ProcessInfo>> processes(std::string id) {
  return make_call<std::vector<ProcessInfo>>(
      [=](Caller& caller) { return fetch_processes(caller, id); });
}

Call<void> write_input(Process process, std::string bytes, InputEnd then) {
  return make_call<void>([=](Caller& caller) { return write_it(caller, process, bytes, then); });
}

Call<void> signal(Process process, std::string name) {
  return make_call<void>([=](Caller& caller) {
    return atl::client::send_signal(caller.connection, to_ref(process), name);
  });
}

Call<void> resize_terminal(Process process, TerminalSize size) {
  return make_call<void>([=](Caller& caller) {
    return atl::client::resize_terminal(caller.connection, to_ref(process), size.rows,
                                        size.columns);
  });
}

}  // namespace atoll_client::calls
