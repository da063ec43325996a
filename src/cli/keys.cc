// `atoll keys`: who may call a daemon.
#include "core/keys.h"

#include "api/object_writer.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr size_t kMostRevoked = 1'000;

constexpr Flag kFlags[] = {
    {"role", 0, "ROLE", "of create: admin, member (default), viewer or agent"},
    {"tenant", 0, "NAME", "of create: whose sandboxes it is for; without it, one's own"},
    {"label", 0, "TEXT", "of create: what the key is for"},
    {"ttl", 0, "TIME", "of create: how long it is good for: 8h, 30d; without it, until revoked"},
};

Result<> allow_flags_of_create(const Args& args, std::string_view action) {
  for (const Flag& flag : kFlags) {
    if (args.has(flag.name)) {
      return usage_error(
          "--" + std::string(flag.name) + ": keys " + std::string(action) + " does not take it",
          "keys");
    }
  }
  return {};
}

Result<std::string> body_of_create(const Args& args) {
  std::string body;
  api::ObjectWriter object(body);
  const auto role = args.find("role").value_or("member");
  if (!json::find_enum<Role>(role)) {
    return usage_error(
        "--role: '" + to_printable(role) + "' is none of admin, member, viewer, agent", "keys");
  }
  object.member("role", role);
  if (const auto tenant = args.find("tenant")) object.member("tenant", *tenant);
  if (const auto label = args.find("label")) object.member("label", *label);
  if (const auto ttl = args.find("ttl")) {
    TRY(const int64_t seconds, parse_seconds("ttl", *ttl));
    object.member("ttl_s", seconds);
  }
  object.close();
  return body;
}

// The key goes to stdout alone, so that KEY=$(atoll keys create) works.
Result<int> create(Context& context) {
  if (context.args.words().size() > 1) return usage_error("keys create takes no words", "keys");
  TRY(std::string body, body_of_create(context.args));
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->post("/v1/keys", std::move(body)));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto made, parse_answer(text));
  TRY_OK(print(text_at(made, "key") + "\n"));
  if (!context.quiet()) {
    const auto word = [&](std::string_view name) { return single_line(text_at(made, name)); };
    tell("atoll: " + word("id") + ", " + word("role") + " of " + word("tenant") +
         "; the key is shown this once");
  }
  return 0;
}

Result<int> list(Context& context) {
  TRY_OK(allow_flags_of_create(context.args, "list"));
  if (context.args.words().size() > 1) return usage_error("keys list takes no words", "keys");
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get("/v1/keys"));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"ID", "TENANT", "ROLE", "CREATED", "EXPIRES", "LAST USED", "LABEL"}};
  const WallTime now = system_clock().wall();
  for (const json::Value& key : list_at(answer, "keys")) {
    const auto word = [&](std::string_view name) { return single_line(text_at(key, name)); };
    const std::string expires = word("expires_at"), used = word("last_used_at");
    rows.push_back({word("id"), word("tenant"), word("role"),
                    format_since(word("created_at"), now) + " ago",
                    expires.empty() ? "never" : format_until(expires, now),
                    used.empty() ? "never" : format_since(used, now) + " ago", word("label")});
  }
  TRY_OK(print(table_for_stdout(rows)));
  return 0;
}

Result<int> revoke(Context& context) {
  TRY_OK(allow_flags_of_create(context.args, "revoke"));
  const auto& words = context.args.words();
  if (words.size() < 2) return usage_error("keys revoke: name the ids of keys", "keys");
  for (const std::string& word : words) {
    if (word.empty()) return usage_error("keys revoke: an id is empty", "keys");
  }
  TRY(const auto client, open_client(context));
  for (size_t i = 1; i < words.size(); ++i) {
    TRY_OK(client->remove("/v1/keys/" + net::percent_encode(words[i])));
    if (!context.json() && !context.quiet()) TRY_OK(print(words[i] + "\n"));
  }
  if (context.json()) TRY_OK(print("{\"ok\":true}\n"));
  return 0;
}

Result<int> keys(Context& context) {
  const std::string& action = context.args.words()[0];
  if (action == "create") return create(context);
  if (action == "list") return list(context);
  if (action == "revoke") return revoke(context);
  return usage_error("keys: '" + to_printable(action) + "' is none of create, list, revoke",
                     "keys");
}

}  // namespace

const Verb kKeysVerb{.grammar = {.verb = "keys",
                                 .usage = "[FLAGS] create | list | revoke ID…",
                                 .flags = {kFlags, kEverywhereFlags},
                                 .least_words = 1,
                                 .most_words = 1 + kMostRevoked},
                     .group = kAccessGroup,
                     .summary = "Make, list and revoke the keys of a daemon",
                     .more = "create prints the key once; only a hash of it is kept.",
                     .run = keys};

}  // namespace atl::cli
