// `atoll logs`: what a command in a sandbox has said, from what is kept of it.
#include "api/object_writer.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/output_pipe.h"
#include "cli/stream.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"process", 0, "ID", "which command; without it, the one that was started last"},
    {"follow", 'f', "", "go on until the command ends"},
    {"tail", 'n', "LINES", "only the last lines of what is there"},
    {"stream", 0, "NAME", "stdout, stderr or all (default)"},
};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == text.npos;
}

Result<std::string> query_from(const Args& args) {
  std::string query = args.has("follow") ? "follow=true" : "follow=false";
  for (const std::string_view name : {"process", "tail"}) {
    const auto value = args.find(name);
    if (!value) continue;
    if (!is_number(*value)) {
      return usage_error("--" + std::string(name) + ": '" + to_printable(*value) +
                         "' is no number");
    }
    query += "&" + std::string(name) + "=" + *value;
  }
  if (const auto stream = args.find("stream")) query += "&stream=" + net::percent_encode(*stream);
  return query;
}

Result<int> logs(Context& context) {
  const std::string& sandbox = context.args.words()[0];
  TRY(const std::string query, query_from(context.args));
  const std::string target = sandbox_path(sandbox, "/logs?" + query);
  if (!context.json()) {
    TRY(const auto client, open_client(context));
    TRY_OK(copy_stream(*client, target, "text/plain"));
    return 0;
  }
  if (context.args.has("follow")) {
    return usage_error("--json tells all at once, so it cannot go with --follow")
        .with_hint("leave one of the two out");
  }
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(target));
  std::string out;
  api::ObjectWriter object(out);
  object.member("sandbox", sandbox);
  object.bytes("output", text);
  object.close();
  TRY_OK(print(out + "\n"));
  return 0;
}

}  // namespace

const Verb kLogsVerb{
    .grammar = {.verb = "logs",
                .usage = "[FLAGS] BOX",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1},
    .group = kLookGroup,
    .summary = "Show what a command in a sandbox has written",
    .more = "The last megabyte or so of each stream is kept; what came before is gone.",
    .run = logs};

}  // namespace atl::cli
