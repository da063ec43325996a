// `atoll completion`: what a shell loads to complete our command line, and the manual page.
#include "base/text.h"
#include "cli/completion_script.h"
#include "cli/manual.h"
#include "cli/output_pipe.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

Result<std::string> script_for(const std::string& what) {
  if (what == "bash") return bash_script(all_verbs());
  if (what == "zsh") return zsh_script(all_verbs());
  if (what == "fish") return fish_script(all_verbs());
  if (what == "man") return manual_page(all_verbs(), ATOLL_VERSION);
  return usage_error("no completion for '" + to_printable(what) + "'")
      .with_hint("there are: bash, zsh, fish; man gives the manual page");
}

Result<int> completion(Context& context) {
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
