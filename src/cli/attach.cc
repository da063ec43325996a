// `atoll attach`: back to a command that runs in a sandbox, its output and its stdin.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

// Enough of what a terminal showed last to show it again.
constexpr double kScreenBytes = 64 * 1024;

constexpr Flag kFlags[] = {
    {"interactive", 'i', "", "pass stdin to the command, where it has no terminal"},
};

struct Attached {
  uint64_t process = 0;
  bool tty = false;
  std::string query;
};

std::string offset_of(const json::Value& process, std::string_view stream, double back) {
  const json::Value& kept = at(process, stream);
  return fmt::format("{:.0f}", std::max(number_at(kept, "first"), number_at(kept, "end") - back));
}

// The one that is asked for; else the newest that runs.
Result<Attached> choose(const json::Value& answer, const std::optional<std::string>& asked) {
  const json::Value* found = nullptr;
  for (const json::Value& process : list_at(answer, "processes")) {
    const bool fits = asked ? fmt::format("{:.0f}", number_at(process, "process")) == *asked
                            : flag_at(process, "running");
    if (fits) found = &process;
  }
  if (found == nullptr) {
    return Error(Code::not_found, asked ? "there is no process " + to_printable(*asked)
                                        : std::string("nothing runs in this sandbox"))
        .with_hint("start something: atoll exec -t BOX -- bash; what has run: atoll logs BOX");
  }
  Attached attached;
  attached.process = static_cast<uint64_t>(number_at(*found, "process"));
  attached.tty = flag_at(*found, "tty");
  attached.query = fmt::format("?on_disconnect=keep&stdout_offset={}&stderr_offset={}",
                               offset_of(*found, "stdout", attached.tty ? kScreenBytes : 0),
                               offset_of(*found, "stderr", 0));
  return attached;
}

Result<int> attach(Context& context) {
  const auto& words = context.args.words();
  const std::string& sandbox = words[0];
  const auto asked = words.size() > 1 ? std::optional(words[1]) : std::nullopt;
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(sandbox_path(sandbox, "/processes")));
  TRY(const auto answer, parse_answer(text));
  TRY(const Attached chosen, choose(answer, asked));
  StreamRequest request{
      .exec = {.method = net::Method::get,
               .target = client::process_path({sandbox, chosen.process}, "output" + chosen.query)},
      .input = chosen.tty                        ? Input::terminal
               : context.args.has("interactive") ? Input::forward
                                                 : Input::none,
      .leaving = Leaving::keeps};
  TRY(const StreamEnd ended, follow_stream(*client, std::move(request)));
  return tell_stream_end(context, sandbox, ended);
}

}  // namespace

const Verb kAttachVerb{
    .grammar = {.verb = "attach",
                .usage = "[FLAGS] BOX [PROCESS]",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 2},
    .group = kSandboxesGroup,
    .summary = "Go back to a command that runs in a sandbox",
    .more =
        "To the one that was started last, or to PROCESS of atoll inspect BOX. A terminal shows "
        "what it\n"
        "showed last; Ctrl-P Ctrl-Q leaves it running. Without a terminal, new output is shown "
        "and Ctrl-C\nis passed on.",
    .run = attach};

}  // namespace atl::cli
