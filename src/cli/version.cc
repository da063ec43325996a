// `atoll version`: ours, and the daemon's if one answers.
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/verbs.h"
#include "json/write.h"

namespace atl::cli {
namespace {

Result<int> version(Context& context) {
  std::string daemon;
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (search.found) {
    TRY(const auto client, connect_client(context, *search.found));
    // A daemon that does not answer is no reason not to know one's own version.
    if (const auto text = client->get("/v1/version")) {
      if (const auto answer = parse_answer(*text)) daemon = text_at(*answer, "version");
    }
  }
  std::string out;
  if (context.json()) {
    out = R"({"version":)";
    json::write_string(out, ATOLL_VERSION);
    if (!daemon.empty()) {
      out += R"(,"daemon":)";
      json::write_string(out, daemon);
    }
    out += "}\n";
  } else {
    out = "atoll " ATOLL_VERSION "\n";
    if (!daemon.empty()) out += "daemon " + single_line(daemon) + " at " + search.found->url + "\n";
  }
  TRY_OK(print(out));
  return 0;
}

}  // namespace

const Verb kVersionVerb{
    .grammar = {.verb = "version", .usage = "[FLAGS]", .flags = {kEverywhereFlags}},
    .group = kDaemonGroup,
    .summary = "Show the version, and the daemon's if one answers",
    .more = "",
    .run = version};

}  // namespace atl::cli
