// `atoll stats`: what sandboxes use right now.
#include "api/object_writer.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/sandbox_list.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/write.h"

namespace atl::cli {
namespace {

constexpr size_t kMostWords = 1'000;

struct Row {
  std::string sandbox;
  json::Value stats;
};

// Those that are named; otherwise all that run.
Result<std::vector<Row>> fetch(Context& context, Client& client) {
  std::vector<Row> rows;
  if (!context.args.words().empty()) {
    for (const std::string& sandbox : context.args.words()) {
      TRY(const std::string text, client.get(sandbox_path(sandbox, "/stats")));
      TRY(auto stats, parse_answer(text));
      rows.push_back({sandbox, std::move(stats)});
    }
    return rows;
  }
  TRY(const auto sandboxes, fetch_sandboxes(client, "state=running"));
  for (const json::Value& sandbox : sandboxes) {
    std::string id = text_at(sandbox, "id");
    const auto text = client.get(sandbox_path(id, "/stats"));
    if (!text) continue;  // it has ended since
    TRY(auto stats, parse_answer(*text));
    rows.push_back({std::move(id), std::move(stats)});
  }
  return rows;
}

std::string table_of(const std::vector<Row>& rows) {
  Table table{{"SANDBOX", "PROCESSES", "CPU", "MEMORY", "AGE"}};
  for (const auto& [sandbox, stats] : rows) {
    const auto bytes = [&](std::string_view name) {
      return format_bytes(static_cast<uint64_t>(number_at(stats, name)));
    };
    table.push_back({single_line(sandbox),
                     std::to_string(static_cast<uint64_t>(number_at(stats, "processes"))),
                     format_ms(number_at(stats, "cpu_ms")) +
                         (number_at(stats, "braked") > 0 ? " (braked)" : ""),
                     bytes("memory_bytes"),
                     format_span(Millis(static_cast<int64_t>(number_at(stats, "age_ms"))))});
  }
  return table_for_stdout(table);
}

std::string json_of(const std::vector<Row>& rows) {
  json::Array all;
  for (const auto& [sandbox, stats] : rows) {
    json::Object object{{"sandbox", sandbox}};
    if (const auto* members = stats.if_object()) {
      for (const auto& member : *members) object.insert_or_assign(member.key(), member.value());
    }
    all.push_back(std::move(object));
  }
  std::string text;
  json::write_value(text, all);
  return text + "\n";
}

Result<int> stats(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const auto rows, fetch(context, *client));
  TRY_OK(print(context.json() ? json_of(rows) : table_of(rows)));
  return 0;
}

}  // namespace

const Verb kStatsVerb{.grammar = {.verb = "stats",
                                  .usage = "[FLAGS] [BOX…]",
                                  .flags = {kEverywhereFlags},
                                  .most_words = kMostWords},
                      .group = kLookGroup,
                      .summary = "Show what sandboxes use: processes, processor time, memory",
                      .more = "",
                      .run = stats};

}  // namespace atl::cli
