// `atoll limits`: how much one may have, and has.
#include <fmt/format.h>

#include "cli/client.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "net/http_message.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"tenant", 0, "NAME", "another tenant's; for admins"},
};

struct Shown {
  std::string_view title;
  std::string_view limit;
  std::string_view used;  // "" = nothing of it is used up
};

constexpr Shown kShown[] = {
    {"sandboxes", "sandboxes", "sandboxes_now"},
    {"processors", "cpus", "cpus_now"},
    {"memory (MiB)", "memory_mb", "memory_mb_now"},
    {"disk (MiB)", "disk_mb", "disk_mb_now"},
    {"creates and runs per second", "creates_per_s", ""},
    {"creates and runs at once", "at_once", "at_once_now"},
    {"of them waiting", "queue", "waiting_now"},
    {"requests per second", "requests_per_s", ""},
};

std::string used_text(const json::Value& answer, std::string_view name) {
  return fmt::format("{:.10g}", number_at(answer, name));
}

std::string most_text(const json::Value& answer, std::string_view name) {
  return at(answer, name).is_null() ? "no limit" : used_text(answer, name);
}

Result<int> limits(Context& context) {
  std::string path = "/v1/limits";
  if (const auto tenant = context.args.find("tenant"))
    path += "?tenant=" + net::percent_encode(*tenant);
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(path));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"LIMIT", "USED", "MOST"}};
  for (const Shown& shown : kShown) {
    rows.push_back({std::string(shown.title),
                    shown.used.empty() ? "" : used_text(answer, shown.used),
                    most_text(answer, shown.limit)});
  }
  // Not how much, but what at least and how far away at most; only where there is such a floor.
  const auto add_floor = [&](std::string_view title, std::string_view name) {
    if (const std::string word = text_at(answer, name); !word.empty())
      rows.push_back({std::string(title), "", word});
  };
  add_floor("isolation, at least", "min_isolation");
  add_floor("placement, at most", "placement");
  TRY_OK(print(table_for_stdout(rows)));
  return 0;
}

}  // namespace

const Verb kLimitsVerb{
    .grammar = {.verb = "limits", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kAccessGroup,
    .summary = "How much you may have, and have",
    .more = "What is counted is what live sandboxes have together; docs/admission.md tells how.",
    .run = limits};

}  // namespace atl::cli
