#include "cli/explain.h"

#include <fmt/core.h>

#include "cli/client.h"
#include "cli/driver_list.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

std::string to_text(std::string_view driver, std::string_view isolation, std::string_view plan) {
  return fmt::format("{:<14}{}, isolation {}\n{}", "driver", driver, isolation, plan);
}

Result<int> explain_embedded(Context& context, SandboxAsked asked) {
  TRY(const auto engine, open_engine(context));
  TRY_OK(settle_here(context, asked, *engine));
  TRY(auto request, to_request(std::move(asked.request), api::Seat::local));
  TRY(const Explanation told, engine->explain(std::move(request)));
  std::string out;
  if (context.json()) {
    api::v1::append_explanation(out, told);
    out += "\n";
  } else {
    out = to_text(told.driver, json::name_of(told.isolation), told.plan);
  }
  TRY_OK(print(out));
  return 0;
}

}  // namespace

Result<int> explain(Context& context, SandboxAsked asked) {
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) {
    TRY_OK(check_that_nobody_was_meant(search));
    return explain_embedded(context, std::move(asked));
  }
  TRY_OK(check_no_own_profiles(context));
  TRY(const auto client, connect_client(context, *search.found));
  TRY_OK(settle_directories(context, *client, asked));
  TRY(const std::string text, client->post("/v1/sandboxes:explain", json::encode(asked.request)));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto told, parse_answer(text));
  TRY_OK(
      print(to_text(text_at(told, "driver"), text_at(told, "isolation"), text_at(told, "plan"))));
  return 0;
}

}  // namespace atl::cli
