// `atoll exec`: a command in a sandbox that is there.
#include <fmt/core.h>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/exec_flags.h"
#include "cli/output_pipe.h"
#include "cli/verbs.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"detach", 'd', "", "leave the command running and print its process id"},
};

Result<int> detach(Context& context, Client& client, const std::string& sandbox, ExecAsked asked) {
  TRY(const auto wire, to_wire(context.args.command(), std::move(asked)));
  client::ExecStreamRequest request{.target = sandbox_path(sandbox, "/exec?on_disconnect=keep"),
                                    .body = json::encode(wire)};
  TRY(const client::ProcessRef started, start_detached(client, std::move(request)));
  const auto line = context.json() ? fmt::format(R"({{"sandbox":"{}","process":{}}})",
                                                 started.sandbox, started.process)
                                   : std::to_string(started.process);
  TRY_OK(print(line + "\n"));
  return 0;
}

Result<int> exec(Context& context) {
  const std::string& sandbox = context.args.words()[0];
  if (context.args.command().empty()) {
    return usage_error("there is no command to run")
        .with_hint("for example: atoll exec BOX -- python3 -V");
  }
  TRY(ExecAsked asked, exec_from(context.args));
  TRY(const auto client, open_client(context));
  if (context.args.has("detach")) {
    if (asked.interactive) return usage_error("-d and -i contradict each other");
    return detach(context, *client, sandbox, std::move(asked));
  }
  const Input input = asked.tty           ? Input::terminal
                      : asked.interactive ? Input::forward
                                          : Input::none;
  return exec_in(context, *client, sandbox, context.args.command(), std::move(asked), input);
}

}  // namespace

const Verb kExecVerb{
    .grammar = {.verb = "exec",
                .usage = "[FLAGS] BOX [--] COMMAND [ARG…]",
                .flags = {kFlags, kEnvFlags, kPlaceFlags, kExecFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1,
                .tail = Tail::command},
    .group = kSandboxesGroup,
    .summary = "Run a command in a sandbox, by its id or name",
    .more =
        "The exit code is the command's. Ctrl-C is passed on to the command; a "
        "second one kills it.\n"
        "With -t the command has a terminal and gets every key; Ctrl-P Ctrl-Q leaves it running, "
        "and\natoll attach BOX comes back.\n"
        "What a detached command says is kept: atoll logs BOX.",
    .run = exec};

}  // namespace atl::cli
