// `atoll resume`: paused sandboxes go on.
#include "cli/each.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

Result<int> resume(Context& context) {
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [](Client& daemon, const std::string& sandbox) {
                    return daemon.post(sandbox_path(sandbox, "/resume"), "");
                  });
}

}  // namespace

const Verb kResumeVerb{.grammar = {.verb = "resume",
                                   .usage = "[FLAGS] BOX…",
                                   .flags = {kEverywhereFlags},
                                   .least_words = 1,
                                   .most_words = kMostSandboxes},
                       .group = kSandboxesGroup,
                       .summary = "Let paused sandboxes go on",
                       .more = "",
                       .run = resume};

}  // namespace atl::cli
