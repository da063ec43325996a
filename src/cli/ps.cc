// `atoll ps`: the sandboxes that are there.
#include <unistd.h>

#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_list.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/write.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"driver", 0, "NAME", "only those of this driver"},
    {"tenant", 0, "NAME", "those of another tenant, as an admin; '*' = of all"},
    {"label", 0, "K=V", "only those with this label; may be repeated"},
};

// "running", "paused (idle)", "failed (recovering)".
Cell state_of(const json::Value& sandbox) {
  const std::string state = single_line(text_at(sandbox, "state"));
  std::string more = single_line(text_at(sandbox, "health"));
  const bool is_ill = !more.empty() && more != state;
  if (!is_ill) more = single_line(text_at(sandbox, "rest"));
  const Ink ink = is_ill ? Ink::bad : ink_of_state(state);
  return more.empty() ? Cell(state, ink) : Cell(state + " (" + more + ")", ink);
}

std::string table_of(const json::Array& sandboxes) {
  Table rows{{"ID", "NAME", "STATE", "DRIVER", "ISOLATION", "AGE", "EXPIRES"}};
  const WallTime now = system_clock().wall();
  for (const json::Value& sandbox : sandboxes) {
    const auto text = [&](std::string_view name) { return single_line(text_at(sandbox, name)); };
    const std::string name = text("name");
    rows.push_back({text("id"), name.empty() ? "-" : name, state_of(sandbox), text("driver"),
                    text("isolation"), format_since(text("created_at"), now),
                    format_until(text("expires_at"), now)});
  }
  return table_for_stdout(rows);
}

Result<int> ps(Context& context) {
  std::string filter;
  const auto add = [&](std::string_view name, std::string_view value) {
    filter += (filter.empty() ? "" : "&") + std::string(name) + "=" + net::percent_encode(value);
  };
  if (const auto driver = context.args.find("driver")) add("driver", *driver);
  if (const auto tenant = context.args.find("tenant")) add("tenant", *tenant);
  for (const std::string& label : context.args.all("label")) add("label", label);
  TRY(const auto client, open_client(context));
  TRY(const auto sandboxes, fetch_sandboxes(*client, std::move(filter)));

  std::string text;
  if (context.json()) {
    json::write_value(text, sandboxes);
    text += '\n';
  } else if (context.quiet()) {
    for (const json::Value& sandbox : sandboxes) text += text_at(sandbox, "id") + "\n";
  } else {
    text = table_of(sandboxes);
  }
  TRY_OK(print(text));
  const bool tells = !context.json() && !context.quiet() && isatty(STDERR_FILENO) == 1;
  if (tells && sandboxes.empty()) tell_dim("· none is here; make one: atoll create");
  return 0;
}

}  // namespace

const Verb kPsVerb{
    .grammar = {.verb = "ps", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kLookGroup,
    .summary = "List the sandboxes",
    .more = "-q prints ids only.",
    .run = ps};

}  // namespace atl::cli
