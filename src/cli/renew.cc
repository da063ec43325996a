// `atoll renew`: sandboxes live on; their time counts from now.
#include <fmt/core.h>

#include "cli/each.h"
#include "cli/sandbox_flags.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"ttl", 0, "TIME", "how long from now: 30s, 10m, 2h; without it, as long as at first"},
};

Result<int> renew(Context& context) {
  std::string body = "{}";
  if (const auto text = context.args.find("ttl")) {
    TRY(const int64_t seconds, parse_seconds("ttl", *text));
    body = fmt::format(R"({{"ttl_s":{}}})", seconds);
  }
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [&](Client& daemon, const std::string& sandbox) {
                    return daemon.post(sandbox_path(sandbox, "/renew"), body);
                  });
}

}  // namespace

const Verb kRenewVerb{.grammar = {.verb = "renew",
                                  .usage = "[FLAGS] BOX…",
                                  .flags = {kFlags, kEverywhereFlags},
                                  .least_words = 1,
                                  .most_words = kMostSandboxes},
                      .group = kSandboxesGroup,
                      .summary = "Give sandboxes more time",
                      .more = "",
                      .run = renew};

}  // namespace atl::cli
