// `atoll drivers`: what can make sandboxes here, and what each does not protect.
#include "api/v1/driver_wire.h"
#include "cli/client.h"
#include "cli/driver_comparison.h"
#include "cli/driver_list.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/write.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"compare", 0, "", "compare what they isolate, cost, keep and limit, and how fast they start"},
};

std::string details_of(const json::Value& driver) {
  const std::string name = single_line(text_at(driver, "name"));
  std::string text;
  for (const json::Value& sentence : list_at(driver, "capabilities.not_protected")) {
    const auto* words = sentence.if_string();
    if (words != nullptr) text += "  - " + single_line({words->data(), words->size()}) + "\n";
  }
  if (!text.empty()) return "\n" + name + " does not protect:\n" + text;

  const std::string why = text_at(driver, "unavailable_because");
  if (why.empty()) return "";
  text = "\n" + name + " is not available: " + single_line(why) + "\n";
  const std::string hint = text_at(driver, "hint");
  return hint.empty() ? text : text + "  hint: " + single_line(hint) + "\n";
}

// The circuit, too, while it is not closed.
std::string health_of(const json::Value& driver) {
  const std::string health = single_line(text_at(driver, "health"));
  const std::string circuit = text_at(driver, "circuit");
  if (circuit == "open") return "left alone";
  if (circuit == "half_open") return "being tried";
  return health.empty() ? "-" : health;
}

std::string table_of(const json::Array& drivers) {
  Table rows{{"DRIVER", "ISOLATION", "AVAILABLE", "HEALTH", "WHAT IT IS"}};
  std::string details;
  for (const json::Value& driver : drivers) {
    const bool available = flag_at(driver, "available");
    const auto text = [&](std::string_view name) { return single_line(text_at(driver, name)); };
    rows.push_back({text("name"), available ? text("capabilities.isolation") : "-",
                    available ? Cell("yes", Ink::good) : Cell("no", Ink::dim), health_of(driver),
                    text("summary")});
    details += details_of(driver);
  }
  return table_for_stdout(rows) + details;
}

Result<std::string> fetch(Context& context) {
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) {
    TRY_OK(check_that_nobody_was_meant(search));
    TRY(const auto engine, context.program.open_engine(nullptr));
    return api::v1::encode_drivers(engine->drivers());
  }
  TRY(const auto client, connect_client(context, *search.found));
  return client->get("/v1/drivers");
}

Result<int> drivers(Context& context) {
  TRY(const std::string text, fetch(context));
  TRY(const auto answer, parse_answer(text));
  const json::Array& list = list_at(answer, "drivers");
  std::string out;
  if (context.json()) {
    json::write_value(out, list);
    out += '\n';
  } else if (context.quiet()) {
    for (const json::Value& driver : list) {
      if (flag_at(driver, "available")) out += text_at(driver, "name") + "\n";
    }
  } else if (context.args.has("compare")) {
    out = compare_drivers(list);
  } else {
    out = table_of(list);
  }
  TRY_OK(print(out));
  return 0;
}

}  // namespace

const Verb kDriversVerb{
    .grammar = {.verb = "drivers", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kDaemonGroup,
    .summary = "Show what can make sandboxes here, and what each does not protect",
    .more =
        "Without a daemon it tells what `atoll run` has. -q prints the names of those available. "
        "--compare\n"
        "is the table to decide by; how long a start takes is measured by a daemon that has made "
        "some.",
    .run = drivers};

}  // namespace atl::cli
