// `atoll token`: a token that is good for one sandbox.
#include <fmt/core.h>

#include "cli/client.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/sandbox_flags.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"ttl", 0, "TIME", "how long it is good for: 10m, 8h; at most 24h (1h)"},
    {"read-only", 0, "", "for viewers: it reads files and output, and changes nothing"},
};

Result<int> token(Context& context) {
  int64_t seconds = 3'600;
  if (const auto text = context.args.find("ttl")) {
    TRY(seconds, parse_seconds("ttl", *text));
  }
  const std::string body = fmt::format(R"({{"ttl_s":{}{}}})", seconds,
                                       context.args.has("read-only") ? R"(,"mode":"read")" : "");
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->post(sandbox_path(context.args.words()[0], "/token"), body));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto made, parse_answer(text));
  TRY_OK(print(text_at(made, "token") + "\n"));
  return 0;
}

}  // namespace

const Verb kTokenVerb{
    .grammar = {.verb = "token",
                .usage = "[FLAGS] BOX",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1},
    .group = kAccessGroup,
    .summary = "Make a token that is good for one sandbox",
    .more =
        "Whoever has it runs commands and reads and writes files in this sandbox, "
        "and nothing else.\nIt ends with the sandbox, and with the key that made "
        "it. Use it as ATOLL_API_KEY.",
    .run = token};

}  // namespace atl::cli
