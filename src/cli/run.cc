// `atoll run`: create, exec and destroy in one go, with a daemon or without.
#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/driver_list.h"
#include "cli/exec_flags.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/stream.h"
#include "cli/verbs.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

using api::v1::WireExec;

constexpr Flag kFlags[] = {
    {"rm", 0, "", "remove the sandbox afterwards, which is what happens anyway"},
    {"keep", 0, "", "leave the sandbox running afterwards (needs a daemon)"},
};

struct WireRun {
  WireCreate sandbox;
  WireExec exec;
};
BOOST_DESCRIBE_STRUCT(WireRun, (), (sandbox, exec))

struct Asked {
  SandboxAsked sandbox;
  ExecAsked exec;
  Input input = Input::none;
};

int end(Context& context, const RunFacts& facts) {
  if (!context.quiet()) tell_end(facts, Summary::on_terminal);
  return exit_code_of(facts);
}

Result<int> run_embedded(Context& context, Asked asked) {
  TRY(const auto engine, context.program.open_engine());
  TRY_OK(settle_here(context, asked.sandbox, offers_from(engine->drivers())));
  LocalRun run;
  TRY(run.sandbox, to_request(std::move(asked.sandbox.request), api::Seat::local));
  run.exec.argv = context.args.command();
  run.exec.env = std::move(asked.exec.env);
  run.exec.cwd = std::move(asked.exec.cwd);
  run.exec.user = std::move(asked.exec.user);
  run.exec.timeout = asked.exec.timeout;
  run.output = context.json() ? OutputTo::result : OutputTo::terminal;
  run.pass_stdin = asked.input == Input::forward;
  if (run.pass_stdin && context.json()) {
    TRY(run.input, read_stdin());
  }
  TRY(const RunResult result, engine->run(std::move(run)));
  if (!context.json()) return end(context, facts_from(result));
  TRY_OK(print(to_json(result) + "\n"));
  return exit_code_of(facts_from(result));
}

// In one call that the daemon cleans up after, whatever happens to us.
Result<int> run_remote(Context& context, Client& client, Asked asked) {
  TRY(WireExec exec, to_wire(context.args.command(), std::move(asked.exec)));
  StreamRequest request{.target = "/v1/runs", .input = asked.input};
  if (context.json()) {
    if (asked.input == Input::forward) {
      TRY(const std::string bytes, read_stdin());
      exec.stdin_b64 = to_base64(bytes);
    }
    const WireRun run{std::move(asked.sandbox.request), std::move(exec)};
    TRY(const std::string text, client.post(request.target, json::encode(run)));
    TRY_OK(print(text + "\n"));
    TRY(const auto exit, parse_answer(text));
    return exit_code_of(facts_from(exit));
  }
  if (asked.input == Input::forward) exec.stdin_open = true;
  request.body = json::encode(WireRun{std::move(asked.sandbox.request), std::move(exec)});
  TRY(const StreamEnd ended, follow_stream(client, std::move(request)));
  return end(context, facts_from(ended.exit));
}

Result<int> run_and_keep(Context& context, Client& client, Asked asked) {
  TRY(const std::string made, client.post("/v1/sandboxes", json::encode(asked.sandbox.request)));
  TRY(const auto sandbox, parse_answer(made));
  const std::string id = text_at(sandbox, "id");
  if (!context.quiet()) tell("atoll: the sandbox stays: " + id);
  return exec_in(context, client, id, context.args.command(), std::move(asked.exec), asked.input);
}

Result<int> run(Context& context) {
  const Args& args = context.args;
  if (args.command().empty()) {
    return usage_error("there is no command to run")
        .with_hint("for example: atoll run -- python3 -V");
  }
  if (args.has("rm") && args.has("keep"))
    return usage_error("--rm and --keep contradict each other");
  Asked asked;
  TRY(asked.sandbox, sandbox_from(args));
  TRY(asked.exec, exec_from(args));
  // An answer that comes whole would wait for the end of a stdin that nobody may ever close.
  const bool pipes = !context.json() && isatty(STDIN_FILENO) != 1;
  asked.input = asked.exec.interactive || pipes ? Input::forward : Input::none;

  TRY(const TargetSearch search, find_target(args, find_variable));
  if (!search.found) {
    if (args.has("keep")) return no_daemon(search).with("--keep");
    TRY_OK(check_that_nobody_was_meant(search));
    return run_embedded(context, std::move(asked));
  }
  TRY(const auto client, Client::connect(context, *search.found));
  TRY_OK(settle_directories(context, *client, asked.sandbox));
  if (args.has("keep")) return run_and_keep(context, *client, std::move(asked));
  return run_remote(context, *client, std::move(asked));
}

}  // namespace

const Verb kRunVerb{
    .grammar = {.verb = "run",
                .usage = "[FLAGS] [--] COMMAND [ARG…]",
                .flags = {kSandboxFlags, kEnvFlags, kExecFlags, kFlags, kEverywhereFlags},
                .tail = Tail::command},
    .summary = "Run a command in a fresh sandbox that is gone afterwards",
    .more =
        "Works without a daemon. Stdin is passed to the command when it is not a terminal, or with "
        "-i.\n"
        "--here shows the current directory copy-on-write where the driver can, else read-only; "
        "only\n"
        "--here=rw lets the command change your files.",
    .run = run};

}  // namespace atl::cli
