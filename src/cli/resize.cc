// `atoll resize`: other limits for sandboxes that run.
#include "cli/each.h"
#include "cli/flag_words.h"
#include "cli/sandbox_flags.h"
#include "cli/verbs.h"
#include "core/request_check.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

Result<int> resize(Context& context) {
  TRY(const Resources resources, resources_from(context.args));
  if (resources == Resources{}) {
    return usage_error("there is nothing to change")
        .with_hint("for example: atoll resize --memory 1g BOX");
  }
  const auto fine = check_resize(resources);
  if (!fine) return usage_error(in_flag_words(fine.error()).message());
  const std::string body = R"({"resources":)" + json::encode(resources) + "}";
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [&](Client& daemon, const std::string& sandbox) {
                    return daemon.patch(sandbox_path(sandbox), body);
                  });
}

}  // namespace

const Verb kResizeVerb{.grammar = {.verb = "resize",
                                   .usage = "[FLAGS] BOX…",
                                   .flags = {kResizeFlags, kEverywhereFlags},
                                   .least_words = 1,
                                   .most_words = kMostSandboxes},
                       .group = kSandboxesGroup,
                       .summary = "Change the limits of sandboxes while they run",
                       .more = "What is not named stays as it is.",
                       .run = resize};

}  // namespace atl::cli
