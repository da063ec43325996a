// `atoll completion`: what a shell loads to complete our command line, and the manual page.
#include "base/text.h"
#include "cli/client.h"
#include "cli/completion_script.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/manual.h"
#include "cli/output_pipe.h"
#include "cli/sandbox_list.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

// Names and ids, a line each. A shell that asks has no use for an error.
std::string boxes(Context& context) {
  std::string out;
  const auto client = open_client(context);
  if (!client) return out;
  const auto sandboxes = fetch_sandboxes(**client);
  if (!sandboxes) return out;
  for (const json::Value& sandbox : *sandboxes) {
    for (const std::string_view key : {"name", "id"}) {
      const std::string word = single_line(text_at(sandbox, key));
      if (!word.empty()) out += word + "\n";
    }
  }
  return out;
}

Result<std::string> script_for(const std::string& what) {
  if (what == "bash") return bash_script(all_verbs());
  if (what == "zsh") return zsh_script(all_verbs());
  if (what == "fish") return fish_script(all_verbs());
  if (what == "man") return manual_page(all_verbs(), ATOLL_VERSION);
  return usage_error("no completion for '" + to_printable(what) + "'")
      .with_hint("there are: bash, zsh, fish; man gives the manual page");
}

Result<int> completion(Context& context) {
  if (context.args.words()[0] == "boxes") {  // what the scripts ask
    TRY_OK(print(boxes(context)));
    return 0;
  }
  TRY(const std::string script, script_for(context.args.words()[0]));
  TRY_OK(print(script));
  return 0;
}

}  // namespace

const Verb kCompletionVerb{.grammar = {.verb = "completion",
                                       .usage = "bash|zsh|fish|man",
                                       .flags = {kEverywhereFlags},
                                       .least_words = 1,
                                       .most_words = 1},
                           .group = kDaemonGroup,
                           .summary = "Print what a shell loads to complete atoll's command line",
                           .more =
                               "bash: source <(atoll completion bash)\n"
                               "zsh:  source <(atoll completion zsh)\n"
                               "fish: atoll completion fish | source\n"
                               "man prints the manual page: atoll completion man | man -l -",
                           .run = completion};

}  // namespace atl::cli
