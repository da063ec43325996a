// `atoll plan`: which way a sandbox would go, and why; nothing is made.
#include <fmt/core.h>

#include "cli/client.h"
#include "cli/driver_list.h"
#include "cli/exec_flags.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "cli/sandbox_flags.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "core/route_plan.h"
#include "json/encode.h"
#include "net/http_message.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"as", 0, "DRIVER", "what would be otherwise with this driver"},
};

Result<std::string> plan_here(Context& context, SandboxAsked asked, const std::string& as) {
  TRY(const auto engine, open_engine(context));
  TRY_OK(settle_here(context, asked, *engine));
  TRY(auto request, to_request(std::move(asked.request), api::Seat::local));
  TRY(const RoutePlan plan, engine->plan(std::move(request), as));
  return json::encode(plan);
}

Result<std::string> plan_there(Context& context, const Target& target, SandboxAsked asked,
                               const std::string& as) {
  TRY_OK(check_no_own_profiles(context));
  TRY(const auto client, connect_client(context, target));
  TRY_OK(settle_directories(context, *client, asked));
  const std::string query = as.empty() ? "" : "?as=" + net::percent_encode(as);
  return client->post("/v1/plan" + query, json::encode(asked.request));
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : single_line(text); }

std::string to_text(const json::Value& plan) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<14}{}\n", name, value);
  };
  line("profile", or_dash(text_at(plan, "profile")));
  if (const auto mode = text_at(plan, "run_mode"); !mode.empty()) line("run mode", or_dash(mode));
  line("strategy", or_dash(text_at(plan, "strategy")));
  line("floor", or_dash(text_at(plan, "min_isolation")));
  line("placement", or_dash(text_at(plan, "placement")));
  if (flag_at(plan, "served")) {
    line("driver", fmt::format("{}, isolation {}", or_dash(text_at(plan, "driver")),
                               or_dash(text_at(plan, "isolation"))));
  } else {
    line("driver", "none: " + or_dash(text_at(plan, "problem")));
  }
  Table rows{{"DRIVER", "ISOLATION", "", "WHY"}};
  for (const json::Value& one : list_at(plan, "drivers")) {
    rows.push_back({or_dash(text_at(one, "driver")), or_dash(text_at(one, "isolation")),
                    or_dash(text_at(one, "verdict")), or_dash(text_at(one, "reason"))});
  }
  out += "\n" + table_for_stdout(rows);
  if (text_at(plan, "as").empty()) return out;
  Table changes{{"AS " + single_line(text_at(plan, "as")), "NOW", "THEN"}};
  for (const json::Value& one : list_at(plan, "changes")) {
    changes.push_back({or_dash(text_at(one, "what")), or_dash(text_at(one, "from")),
                       or_dash(text_at(one, "to"))});
  }
  return out + "\n" + table_for_stdout(changes);
}

Result<int> plan(Context& context) {
  TRY(SandboxAsked asked, sandbox_from(context.args));
  TRY(auto env, env_from(context.args));
  if (!env.empty()) asked.request.env = std::move(env);
  asked.request.user = context.args.find("user");
  asked.request.cwd = context.args.find("workdir");
  const std::string as = context.args.find("as").value_or("");
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) TRY_OK(check_that_nobody_was_meant(search));
  TRY(const std::string text, search.found
                                  ? plan_there(context, *search.found, std::move(asked), as)
                                  : plan_here(context, std::move(asked), as));
  TRY(const auto told, parse_answer(text));
  TRY_OK(print(context.json() ? text + "\n" : to_text(told)));
  return flag_at(told, "served") ? 0 : 1;
}

}  // namespace

const Verb kPlanVerb{
    .grammar = {.verb = "plan",
                .usage = "[FLAGS]",
                .flags = {kSandboxFlags, kEnvFlags, kPlaceFlags, kFlags, kEverywhereFlags}},
    .group = kLookGroup,
    .summary = "Show which driver a sandbox would get, and why not the others",
    .more =
        "Takes the flags of create, and makes nothing. The exit code is 1 when no driver can serve "
        "it.",
    .run = plan};

}  // namespace atl::cli
