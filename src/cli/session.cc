// `atoll session`: sandboxes that several clients hold.
#include <fmt/core.h>

#include <boost/describe/class.hpp>

#include "base/text.h"
#include "cli/client.h"
#include "cli/driver_list.h"
#include "cli/exec_flags.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "cli/sandbox_flags.h"
#include "cli/shown_answer.h"
#include "cli/subverb.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "core/session_view.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

constexpr size_t kMostClosed = 1'000;

constexpr Flag kFlags[] = {
    {"scope", 0, "WHO", "open: who shares it: session (default), agent, workspace, shared"},
    {"key", 0, "NAME", "open: the name of the workspace, or of the agent"},
    {"lease", 0, "TIME", "open, renew: it ends when nobody renews it for so long: 5m (default)"},
    {"on-last", 0, "WHAT", "open: when the last one lets go: kill (default), stop, pause"},
};

struct Asked {
  std::optional<std::string> scope;
  std::optional<std::string> key;
  std::optional<int64_t> ttl_s;
  std::optional<std::string> on_last;
  std::optional<WireCreate> sandbox;
};
BOOST_DESCRIBE_STRUCT(Asked, (), (scope, key, ttl_s, on_last, sandbox))

struct Renewal {
  std::optional<int64_t> ttl_s;
};
BOOST_DESCRIBE_STRUCT(Renewal, (), (ttl_s))

// The daemon would name its own field, which is not told from the sandbox's --ttl.
Result<std::optional<int64_t>> lease_from(const Args& args) {
  const auto text = args.find("lease");
  if (!text) return std::nullopt;
  TRY(const int64_t lease, parse_seconds("lease", *text));
  if (lease >= kShortestSessionLife.count() && lease <= kLongestSessionLife.count()) return lease;
  return usage_error(fmt::format("--lease: it is from {}s to {}h, and {} was given",
                                 kShortestSessionLife.count(), kLongestSessionLife.count() / 3'600,
                                 *text));
}

std::string path_to(const std::string& session) {
  return "/v1/sessions/" + net::percent_encode(session);
}

Result<int> open(Context& context) {
  Asked asked;
  asked.scope = context.args.find("scope");
  asked.key = context.args.find("key");
  asked.on_last = context.args.find("on-last");
  TRY(asked.ttl_s, lease_from(context.args));
  TRY(SandboxAsked sandbox, sandbox_from(context.args));
  TRY(auto env, env_from(context.args));
  if (!env.empty()) sandbox.request.env = std::move(env);
  TRY_OK(check_no_own_profiles(context));
  TRY(const auto client, open_client(context));
  TRY_OK(settle_directories(context, *client, sandbox));
  // Who says nothing of the sandbox joins it as it is.
  if (json::encode(sandbox.request) != "{}") asked.sandbox = std::move(sandbox.request);
  TRY(const std::string text, client->post("/v1/sessions", json::encode(asked)));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto session, parse_answer(text));
  TRY_OK(print(text_at(session, "id") + " " + text_at(session, "sandbox") + "\n"));
  return 0;
}

Result<int> list(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get("/v1/sessions"));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"ID", "SCOPE", "KEY", "SANDBOX", "HOLDERS", "OWNER", "AGE", "EXPIRES"}};
  std::string ids;
  const WallTime now = system_clock().wall();
  for (const json::Value& one : list_at(answer, "sessions")) {
    const auto word = [&](std::string_view name) { return single_line(text_at(one, name)); };
    ids += word("id") + "\n";
    const auto or_none = [&](std::string_view name) {
      return word(name).empty() ? "-" : word(name);
    };
    rows.push_back({word("id"), word("scope"), or_none("key"), word("sandbox"),
                    fmt::format("{}", number_at(one, "holders")), or_none("owner"),
                    format_since(word("created_at"), now), format_until(word("expires_at"), now)});
  }
  TRY_OK(print(context.quiet() ? ids : table_for_stdout(rows)));
  return 0;
}

Result<int> show(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(path_to(context.args.words()[1])));
  return show_answer(context, text);
}

Result<int> renew(Context& context) {
  Renewal asked;
  TRY(asked.ttl_s, lease_from(context.args));
  TRY(const auto client, open_client(context));
  TRY(const std::string text,
      client->post(path_to(context.args.words()[1]) + "/renew", json::encode(asked)));
  return show_answer(context, text);
}

Result<int> close(Context& context) {
  TRY(const auto client, open_client(context));
  const auto& words = context.args.words();
  for (size_t i = 1; i < words.size(); ++i) {
    TRY_OK(client->remove(path_to(words[i])));
    if (!context.json() && !context.quiet()) TRY_OK(print(words[i] + "\n"));
  }
  if (context.json()) TRY_OK(print("{\"ok\":true}\n"));
  return 0;
}

constexpr Subverb kSubverbs[] = {{"open", 0, 0, open},
                                 {"ls", 0, 0, list},
                                 {"show", 1, 1, show},
                                 {"renew", 1, 1, renew},
                                 {"close", 1, kMostClosed, close}};

Result<int> run_session(Context& context) { return run_subverb(context, "session", kSubverbs); }

}  // namespace

const Verb kSessionVerb{
    .grammar = {.verb = "session",
                .usage = "[FLAGS] open | ls | show SESSION | renew SESSION | close SESSION…",
                .flags = {kFlags, kSandboxFlags, kEnvFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1 + kMostClosed},
    .group = kSandboxesGroup,
    .summary = "Hold a sandbox together with others",
    .more =
        "`open` joins the sandbox of the workspace or agent, or makes it, and prints the session "
        "and\nthe sandbox. A session that nobody renews ends; with the last one the sandbox does, "
        "or rests.",
    .run = run_session};

}  // namespace atl::cli
