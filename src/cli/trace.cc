// `atoll trace`: where the time of a request went, and what belongs together.
#include <algorithm>

#include "base/text.h"
#include "cli/client.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/trace_tree.h"
#include "cli/verbs.h"
#include "json/write.h"
#include "telemetry/trace_context.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"last", 0, "", "the latest request"},
};

// The trace ids of a list, each once, the oldest first.
Result<std::vector<std::string>> list(Client& client, const std::string& query) {
  TRY(const std::string text, client.get("/v1/traces?" + query));
  TRY(const auto answer, parse_answer(text));
  std::vector<std::string> ids;
  for (const json::Value& trace : list_at(answer, "traces")) {
    std::string id = text_at(trace, "trace_id");
    if (!telemetry::find_trace_id(id))
      return Error(Code::internal, "the daemon told of a trace without an id");
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
  }
  std::ranges::reverse(ids);
  return ids;
}

// What is meant by an id: a trace, a request (which is what a run is known by), a sandbox.
Result<std::vector<std::string>> find_ids(Context& context, Client& client) {
  if (context.args.has("last")) {
    TRY(auto ids, list(client, "limit=1"));
    if (!ids.empty()) return ids;
    return Error(Code::not_found, "the daemon remembers no request")
        .with_hint("requests that only read are traced when they come with a traceparent");
  }
  const std::string& id = context.args.words()[0];
  if (telemetry::find_trace_id(id)) return std::vector{id};
  for (const char* kind : {"sandbox", "request"}) {
    TRY(auto ids, list(client, std::string(kind) + "=" + net::percent_encode(id) + "&limit=100"));
    if (!ids.empty()) return ids;
  }
  return Error(Code::not_found, "no trace, request or sandbox " + to_printable(id) + " is known")
      .with_hint("the daemon keeps the latest requests only; atoll trace --last shows the last");
}

Result<int> trace(Context& context) {
  if (context.args.has("last") != context.args.words().empty()) {
    return usage_error("it takes an ID or --last")
        .with_hint("the request before this one: atoll trace --last");
  }
  TRY(const auto client, open_client(context));
  TRY(const auto ids, find_ids(context, *client));
  json::Array traces;
  std::string text;
  for (const std::string& id : ids) {
    TRY(const std::string answer, client->get("/v1/traces/" + id));
    TRY(auto trace, parse_answer(answer));
    if (!text.empty()) text += "\n";
    text += draw_trace(trace);
    traces.push_back(std::move(trace));
  }
  if (context.json()) {
    text.clear();
    json::write_value(text, traces);
    text += "\n";
  }
  TRY_OK(print(text));
  return 0;
}

}  // namespace

const Verb kTraceVerb{
    .grammar = {.verb = "trace",
                .usage = "[FLAGS] ID | --last",
                .flags = {kFlags, kEverywhereFlags},
                .most_words = 1},
    .group = kLookGroup,
    .summary = "Show where the time of a request went, stage by stage",
    .more =
        "ID is a trace, a sandbox (all that was done with it) or a request, such as a run's.\n"
        "The daemon remembers the latest 2,000 requests.",
    .run = trace};

}  // namespace atl::cli
