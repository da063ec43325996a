// `atoll run`: create, exec and destroy in one go, with a daemon or without.
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/apply.h"
#include "cli/changes.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/diff.h"
#include "cli/driver_list.h"
#include "cli/exec_flags.h"
#include "cli/explain.h"
#include "cli/json_view.h"
#include "cli/making_line.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "cli/raw_terminal.h"
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
    {"no-warm", 0, "", "start the interpreter anew, though one may be waiting"},
    {"keep", 0, "", "leave the sandbox running afterwards (needs a daemon)"},
    {"apply", 0, "WHEN",
     "take changes in copies (--here=cow) home if the command succeeds, or always", "success"},
};

struct WireRun {
  WireCreate sandbox;
  WireExec exec;
};
BOOST_DESCRIBE_STRUCT(WireRun, (), (sandbox, exec))

enum class Apply : uint8_t { never, on_success, always };

struct Asked {
  SandboxAsked sandbox;
  ExecAsked exec;
  Input input = Input::none;
  Apply apply = Apply::never;
};

Result<Apply> apply_from(const Args& args) {
  const auto when = args.find("apply");
  if (!when) return Apply::never;
  if (args.has("json")) return usage_error("--apply and --json contradict each other");
  if (*when == "success") return Apply::on_success;
  if (*when == "always") return Apply::always;
  return usage_error(
      fmt::format("--apply: '{}' is neither success nor always", to_printable(*when)));
}

// Whether anything of the host is copied on write.
bool has_copies(const WireCreate& request) {
  if (request.rootfs) return true;
  return request.host_dirs && std::ranges::any_of(*request.host_dirs, [](const auto& dir) {
           return dir.access == HostAccess::cow;
         });
}

Result<> check_apply(const Asked& asked) {
  if (asked.apply == Apply::never || has_copies(asked.sandbox.request)) return {};
  return Error(Code::unsupported, "--apply: nothing of the host is shown copy-on-write")
      .with_hint("show a directory so: --here=cow, or -v SRC:DST:cow");
}

Result<> apply_home(const Context& context, ChangeSource& source) {
  TRY(const Changes changes, source.list(""));
  TRY(const Applied applied, apply_changes(source, changes, Conflicts::stop, Doing::apply));
  TRY_OK(tell_applied(context, applied, Conflicts::stop));
  if (!context.quiet() && !applied.done.changes.empty()) {
    tell("atoll: applied: " + to_summary(applied.done));
  }
  return {};
}

// The copy is gone with the sandbox; people should know that it held something.
void tell_changes(ChangeSource& source) {
  const auto changes = source.list("");
  if (!changes || changes->changes.empty()) return;
  tell_dim("· in the copy: " + to_summary(*changes) + "; --apply takes such changes home");
}

// What is done with the copies at the end of a command. An error from here is told, and counts
// unless the command has failed anyway.
void settle_copies(const Context& context, Apply apply, ChangeSource& source, bool succeeded,
                   Result<>& outcome) {
  if (apply == Apply::always || (apply == Apply::on_success && succeeded)) {
    outcome = apply_home(context, source);
  } else if (apply == Apply::on_success) {
    if (!context.quiet()) tell("atoll: the command failed, so nothing was applied");
  } else if (!context.quiet() && isatty(STDERR_FILENO) == 1) {
    tell_changes(source);
  }
}

// The command's own failure is what the exit code tells; ours is told in words then.
Result<int> with_code(const Context& context, int code, Error error) {
  if (code == 0) return error;
  std::string text = to_text(error, context.request_id);
  text.pop_back();
  tell(text);
  return code;
}

int end(Context& context, const RunFacts& facts) {
  if (!context.quiet()) tell_end(facts, Summary::on_terminal);
  return exit_code_of(facts);
}

Result<int> run_embedded(Context& context, Asked asked) {
  TRY(const auto engine, open_engine(context));
  TRY_OK(settle_here(context, asked.sandbox, *engine));
  TRY_OK(check_apply(asked));
  LocalRun run;
  Result<> applied;
  if (has_copies(asked.sandbox.request) &&
      (asked.apply != Apply::never || isatty(STDERR_FILENO) == 1)) {
    run.at_end = [&](ChangeSource& source, const ExitStatus& status) {
      const bool succeeded = status.reason == ExitReason::exited && status.exit_code == 0;
      settle_copies(context, asked.apply, source, succeeded, applied);
    };
  }
  TRY(run.sandbox, to_request(std::move(asked.sandbox.request), api::Seat::local));
  run.exec.argv = context.args.command();
  run.exec.env = std::move(asked.exec.env);
  run.exec.cwd = std::move(asked.exec.cwd);
  run.exec.user = std::move(asked.exec.user);
  run.exec.timeout = asked.exec.timeout;
  run.exec.cpu_time = asked.exec.cpu_time;
  std::unique_ptr<RawTerminal> raw;
  if (asked.input == Input::terminal) {
    run.exec.terminal = terminal_size();
    run.exec.stdin_mode = StdinMode::open;
    if (const char* kind = getenv("TERM")) run.exec.env.try_emplace("TERM", kind);
    TRY(raw, RawTerminal::enter());
  }
  run.output = context.json() ? OutputTo::result : OutputTo::terminal;
  run.pass_stdin = asked.input == Input::forward;
  if (run.pass_stdin && context.json()) {
    TRY(run.input, read_stdin());
  }
  auto ran = engine->run(std::move(run));
  raw.reset();
  TRY(const RunResult result, std::move(ran));
  if (!context.json()) {
    const int code = end(context, facts_from(result));
    if (!applied) return with_code(context, code, std::move(applied).error());
    return code;
  }
  TRY_OK(print(to_json(result) + "\n"));
  return exit_code_of(facts_from(result));
}

Result<std::string> make_sandbox(const Context& context, Client& client, const WireCreate& asked) {
  const MakingLine line(context, asked.name.value_or(""));
  return client.post("/v1/sandboxes", json::encode(asked));
}

// In one call that the daemon cleans up after, whatever happens to us.
Result<int> run_remote(Context& context, Client& client, Asked asked) {
  TRY(WireExec exec, to_wire(context.args.command(), std::move(asked.exec)));
  if (context.args.has("no-warm")) exec.warm = false;
  StreamRequest request{.exec = {.target = "/v1/runs"}, .input = asked.input};
  if (context.json()) {
    if (asked.input == Input::forward) {
      TRY(const std::string bytes, read_stdin());
      exec.stdin_b64 = to_base64(bytes);
    }
    const WireRun run{std::move(asked.sandbox.request), std::move(exec)};
    TRY(const std::string text, client.post(request.exec.target, json::encode(run)));
    TRY_OK(print(text + "\n"));
    TRY(const auto exit, parse_answer(text));
    return exit_code_of(facts_from(exit));
  }
  if (asked.input != Input::none) exec.stdin_open = true;
  MakingLine line(context, asked.sandbox.request.name.value_or(""));
  request.on_started = [&line] { line.end(); };
  request.exec.body = json::encode(WireRun{std::move(asked.sandbox.request), std::move(exec)});
  auto followed = follow_stream(client, std::move(request));
  line.end();
  TRY(const StreamEnd ended, std::move(followed));
  return end(context, facts_from(ended.exit));
}

Result<int> run_and_keep(Context& context, Client& client, Asked asked) {
  TRY(const std::string made, make_sandbox(context, client, asked.sandbox.request));
  TRY(const auto sandbox, parse_answer(made));
  const std::string id = text_at(sandbox, "id");
  if (!context.quiet()) tell("atoll: the sandbox stays: " + id);
  return exec_in(context, client, id, context.args.command(), std::move(asked.exec), asked.input);
}

// A sandbox of its own that stays until its changes are home.
Result<int> run_and_apply(Context& context, Client& client, Asked asked) {
  TRY(const std::string made, make_sandbox(context, client, asked.sandbox.request));
  TRY(const auto sandbox, parse_answer(made));
  const std::string id = text_at(sandbox, "id");
  auto code =
      exec_in(context, client, id, context.args.command(), std::move(asked.exec), asked.input);
  Result<> applied;
  if (code) {
    RemoteChanges source(client, id);
    settle_copies(context, asked.apply, source, *code == 0, applied);
  }
  auto removed = context.args.has("keep") ? Result<>() : client.remove(sandbox_path(id));
  if (!code) return code;
  if (!applied) return with_code(context, *code, std::move(applied).error());
  if (!removed) return with_code(context, *code, std::move(removed).error());
  return code;
}

Result<int> run(Context& context) {
  const Args& args = context.args;
  if (args.command().empty() && !args.has("explain")) {
    return usage_error("there is no command to run")
        .with_hint("for example: atoll run -- python3 -V");
  }
  if (args.has("rm") && args.has("keep"))
    return usage_error("--rm and --keep contradict each other");
  Asked asked;
  TRY(asked.sandbox, sandbox_from(args));
  TRY(asked.exec, exec_from(args));
  if (args.has("explain")) {
    asked.sandbox.request.user = args.find("user");
    return explain(context, std::move(asked.sandbox));
  }
  TRY(asked.apply, apply_from(args));
  // An answer that comes whole would wait for the end of a stdin that nobody may ever close.
  const bool pipes = !context.json() && isatty(STDIN_FILENO) != 1;
  asked.input = asked.exec.tty                    ? Input::terminal
                : asked.exec.interactive || pipes ? Input::forward
                                                  : Input::none;

  TRY(const TargetSearch search, find_target(args, find_variable));
  if (!search.found) {
    if (args.has("keep")) return no_daemon(search).with("--keep");
    TRY_OK(check_that_nobody_was_meant(search));
    return run_embedded(context, std::move(asked));
  }
  TRY_OK(check_no_own_profiles(context));
  TRY(const auto client, connect_client(context, *search.found));
  TRY_OK(settle_directories(context, *client, asked.sandbox));
  TRY_OK(check_apply(asked));
  if (asked.apply != Apply::never) return run_and_apply(context, *client, std::move(asked));
  if (args.has("keep")) return run_and_keep(context, *client, std::move(asked));
  return run_remote(context, *client, std::move(asked));
}

}  // namespace

const Verb kRunVerb{
    .grammar = {.verb = "run",
                .usage = "[FLAGS] [--] COMMAND [ARG…]",
                // Its own come first: --keep means another thing here.
                .flags = {kFlags, kSandboxFlags, kEnvFlags, kPlaceFlags, kExecFlags,
                          kEverywhereFlags},
                .tail = Tail::command},
    .group = kRunGroup,
    .summary = "Run a command in a fresh sandbox that is gone afterwards",
    .more =
        "Works without a daemon. Stdin is passed to the command when it is not a terminal, or with "
        "-i.\n-t gives it a terminal: atoll run -t -- bash\n"
        "--here shows the current directory copy-on-write where the driver can, else read-only; "
        "only\n"
        "--here=rw lets the command change your files.",
    .run = run};

}  // namespace atl::cli
