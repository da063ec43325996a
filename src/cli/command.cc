#include "cli/command.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/raw_terminal.h"
#include "cli/report.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

using api::v1::Truncated;
using api::v1::WireExec;

constexpr size_t kMostStdin = 4 * 1024 * 1024;

Result<> check_text(std::string_view what, std::string_view bytes) {
  if (is_utf8(bytes)) return {};
  return Error(Code::invalid_argument,
               std::string(what) +
                   " is not UTF-8, and a daemon takes nothing else: " + to_printable(bytes))
      .with_hint("pass such bytes through stdin or a file");
}

}  // namespace

Result<WireExec> to_wire(std::vector<std::string> argv, ExecAsked asked) {
  for (const std::string& argument : argv) TRY_OK(check_text("an argument", argument));
  // Values may be secrets, so only the name is told.
  for (const auto& [name, value] : asked.env) {
    if (!is_utf8(name) || !is_utf8(value)) {
      return Error(Code::invalid_argument, "the variable " + to_printable(name) + " is not UTF-8");
    }
  }
  WireExec wire;
  wire.argv = std::move(argv);
  if (!asked.env.empty()) wire.env = std::move(asked.env);
  if (!asked.cwd.empty()) wire.cwd = std::move(asked.cwd);
  if (!asked.user.empty()) wire.user = std::move(asked.user);
  if (asked.timeout.count() > 0) wire.timeout_ms = asked.timeout.count();
  if (asked.cpu_time.count() > 0) wire.cpu_time_ms = asked.cpu_time.count();
  if (asked.tty) {
    const TerminalSize size = terminal_size();
    wire.tty = api::v1::WireTerminal{size.rows, size.columns};
    if (const char* kind = getenv("TERM"); kind != nullptr && is_utf8(kind)) {
      if (!wire.env) wire.env.emplace();
      wire.env->try_emplace("TERM", kind);
    }
  }
  return wire;
}

Result<std::string> read_stdin() {
  std::string bytes;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading stdin");
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
    if (bytes.size() > kMostStdin) {
      return Error(Code::too_large, "stdin has more than 4 MiB, too much for --json")
          .with_hint("leave --json out, or copy the data first with atoll cp");
    }
  }
}

Result<int> exec_in(Context& context, Client& client, const std::string& sandbox,
                    std::vector<std::string> argv, ExecAsked asked, Input input) {
  TRY(WireExec wire, to_wire(std::move(argv), std::move(asked)));
  // The command belongs to us: when we are gone, nobody would stop it. A terminal can be left.
  const bool stays = input == Input::terminal;
  StreamRequest request{
      .exec = {.target = sandbox_path(
                   sandbox, stays ? "/exec?on_disconnect=keep" : "/exec?on_disconnect=kill")},
      .input = input,
      .leaving = stays ? Leaving::keeps : Leaving::ends};
  if (context.json()) {
    if (input == Input::forward) {
      TRY(const std::string bytes, read_stdin());
      wire.stdin_b64 = to_base64(bytes);
    }
    TRY(const std::string text, client.post(request.exec.target, json::encode(wire)));
    TRY_OK(print(text + "\n"));
    TRY(const auto exit, parse_answer(text));
    return exit_code_of(facts_from(exit));
  }
  if (input != Input::none) wire.stdin_open = true;
  request.exec.body = json::encode(wire);
  TRY(const StreamEnd ended, follow_stream(client, std::move(request)));
  return tell_stream_end(context, sandbox, ended);
}

int tell_stream_end(Context& context, const std::string& sandbox, const StreamEnd& ended) {
  if (ended.left) {
    if (!context.quiet())
      tell("\natoll: it runs on; back to it: atoll attach " + to_printable(sandbox));
    return 0;
  }
  const RunFacts facts = facts_from(ended.exit);
  if (!context.quiet()) tell_end(facts, Summary::none);
  return exit_code_of(facts);
}

std::string to_json(const RunResult& result) {
  const auto truncated = result.exec.truncated ? Truncated::yes : Truncated::no;
  std::string out;
  api::ObjectWriter object(out);
  api::v1::append_output(object, "stdout", result.exec.out, truncated);
  api::v1::append_output(object, "stderr", result.exec.err, truncated);
  api::v1::append_exit(object, result.exec.status, truncated);
  api::v1::append_run_facts(object, {result.driver, result.isolation, result.stages});
  object.close();
  return out;
}

}  // namespace atl::cli
