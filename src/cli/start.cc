// `atoll start`: lets stopped sandboxes run again, with the files that they had.
#include "cli/each.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

Result<int> start(Context& context) {
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [](Client& daemon, const std::string& sandbox) {
                    return daemon.post(sandbox_path(sandbox, "/start"), "");
                  });
}

}  // namespace

const Verb kStartVerb{.grammar = {.verb = "start",
                                  .usage = "[FLAGS] BOX…",
                                  .flags = {kEverywhereFlags},
                                  .least_words = 1,
                                  .most_words = kMostSandboxes},
                      .group = kSandboxesGroup,
                      .summary = "Let stopped sandboxes run again",
                      .more = "",
                      .run = start};

}  // namespace atl::cli
