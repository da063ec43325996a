// `atoll pause`: every process of a sandbox stands still.
#include "cli/each.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

Result<int> pause(Context& context) {
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [](Client& daemon, const std::string& sandbox) {
                    return daemon.post(sandbox_path(sandbox, "/pause"), "");
                  });
}

}  // namespace

const Verb kPauseVerb{.grammar = {.verb = "pause",
                                  .usage = "[FLAGS] BOX…",
                                  .flags = {kEverywhereFlags},
                                  .least_words = 1,
                                  .most_words = kMostSandboxes},
                      .group = kSandboxesGroup,
                      .summary = "Let every process of sandboxes stand still",
                      .more = "Memory and files stay as they are; atoll resume goes on from there.",
                      .run = pause};

}  // namespace atl::cli
