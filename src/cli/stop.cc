// `atoll stop`: ends the processes of sandboxes and keeps their files.
#include "cli/each.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

Result<int> stop(Context& context) {
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [](Client& daemon, const std::string& sandbox) {
                    return daemon.post(sandbox_path(sandbox, "/stop"), "");
                  });
}

}  // namespace

const Verb kStopVerb{.grammar = {.verb = "stop",
                                 .usage = "[FLAGS] BOX…",
                                 .flags = {kEverywhereFlags},
                                 .least_words = 1,
                                 .most_words = kMostSandboxes},
                     .group = kSandboxesGroup,
                     .summary = "End the processes of sandboxes; their files stay",
                     .more = "",
                     .run = stop};

}  // namespace atl::cli
