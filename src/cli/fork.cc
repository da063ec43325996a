// `atoll fork`: copies of a sandbox that go their own way.
#include <fmt/core.h>

#include <charconv>

#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/status_line.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr int kMostChildren = 64;

constexpr Flag kFlags[] = {
    {"count", 'n', "N", "how many, 1 to 64; without it, 1"},
    {"memory", 0, "", "with processes and their memory, where the driver can"},
};

Result<int> fork_sandbox(Context& context) {
  int count = 1;
  if (const auto text = context.args.find("count")) {
    const auto [end, trouble] = std::from_chars(text->data(), text->data() + text->size(), count);
    if (trouble != std::errc() || end != text->data() + text->size() || count < 1 ||
        count > kMostChildren) {
      return usage_error(
          fmt::format("--count: '{}' is not between 1 and {}", to_printable(*text), kMostChildren));
    }
  }
  const char* const kind = context.args.has("memory") ? R"(,"kind":"memory")" : "";
  const std::string& sandbox = context.args.words()[0];
  TRY(const auto client, open_client(context));
  StatusLine line(context);
  line.draw(fmt::format("making {} of {} …", count, single_line(sandbox)));
  TRY(const std::string text, client->post(sandbox_path(sandbox, "/fork"),
                                           fmt::format(R"({{"count":{}{}}})", count, kind)));
  line.clear();
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  std::string ids;
  for (const json::Value& one : list_at(answer, "sandboxes"))
    ids += single_line(text_at(one, "id")) + "\n";
  TRY_OK(print(ids));
  return 0;
}

}  // namespace

const Verb kForkVerb{.grammar = {.verb = "fork",
                                 .usage = "[FLAGS] BOX",
                                 .flags = {kFlags, kEverywhereFlags},
                                 .least_words = 1,
                                 .most_words = 1},
                     .group = kSandboxesGroup,
                     .summary = "Make copies of a sandbox, and print their ids",
                     .more =
                         "Each has the files of the sandbox and goes its own way; all are "
                         "made, or none.\nWith --memory its processes go on in each, from "
                         "where they are now.",
                     .run = fork_sandbox};

}  // namespace atl::cli
