// `atoll inspect`: everything that is known about a sandbox.
#include "cli/client.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"start", 0, "", "how it began, stage by stage; of one that has ended, too, by its id"},
};

Result<int> inspect(Context& context) {
  TRY(const auto client, open_client(context));
  const std::string path = sandbox_path(context.args.words()[0]);
  TRY(const std::string text, client->get(context.args.has("start") ? path + "/start" : path));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto sandbox, parse_answer(text));
  TRY_OK(print(to_pretty(sandbox)));
  return 0;
}

}  // namespace

const Verb kInspectVerb{.grammar = {.verb = "inspect",
                                    .usage = "[FLAGS] BOX",
                                    .flags = {kFlags, kEverywhereFlags},
                                    .least_words = 1,
                                    .most_words = 1},
                        .group = kLookGroup,
                        .summary = "Show everything about a sandbox, as JSON",
                        .more = "--json puts it on one line.",
                        .run = inspect};

}  // namespace atl::cli
