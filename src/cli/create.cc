// `atoll create`: a sandbox that stays until it is removed or its time is up.
#include <fmt/core.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/driver_list.h"
#include "cli/exec_flags.h"
#include "cli/explain.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/making_line.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/verbs.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"warm", 0, "NAME", "have python3 or node wait for the first command"},
};

Result<int> create(Context& context) {
  TRY(SandboxAsked asked, sandbox_from(context.args));
  TRY(auto env, env_from(context.args));
  if (!env.empty()) asked.request.env = std::move(env);
  asked.request.user = context.args.find("user");
  asked.request.cwd = context.args.find("workdir");
  asked.request.warm = context.args.find("warm");
  if (context.args.has("explain")) return explain(context, std::move(asked));
  TRY_OK(check_no_own_profiles(context));
  TRY(const auto client, open_client(context));
  TRY_OK(settle_directories(context, *client, asked));
  MakingLine line(context, asked.request.name.value_or(""));
  auto made = client->post("/v1/sandboxes", json::encode(asked.request));
  line.end();
  TRY(const std::string text, std::move(made));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto sandbox, parse_answer(text));
  TRY_OK(print(text_at(sandbox, "id") + "\n"));
  // Who looks at a terminal sees what it is and how to go in.
  if (!context.quiet() && isatty(STDERR_FILENO) == 1) {
    const auto word = [&](std::string_view name) { return single_line(text_at(sandbox, name)); };
    tell_dim(fmt::format("· {} · {} · ends {} · atoll exec -it {} -- sh", word("driver"),
                         word("isolation"), format_until(word("expires_at"), system_clock().wall()),
                         word("name").empty() ? word("id") : word("name")));
  }
  return 0;
}

}  // namespace

const Verb kCreateVerb{
    .grammar = {.verb = "create",
                .usage = "[FLAGS]",
                .flags = {kSandboxFlags, kEnvFlags, kPlaceFlags, kFlags, kEverywhereFlags}},
    .group = kSandboxesGroup,
    .summary = "Make a sandbox that stays, and print its id",
    .more =
        "Creating the same name again gives the same sandbox while it lives.\n"
        "-u and -w hold for every command that does not say otherwise.",
    .run = create};

}  // namespace atl::cli
