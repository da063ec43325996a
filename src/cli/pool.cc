// `atoll pool`: sandboxes that are made ahead.
#include <fmt/core.h>

#include <charconv>

#include <boost/describe/class.hpp>

#include "base/text.h"
#include "cli/client.h"
#include "cli/flag_words.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/shown_answer.h"
#include "cli/subverb.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/encode.h"
#include "policy/pool_settings.h"

namespace atl::cli {
namespace {

constexpr size_t kMostNamed = 100;

constexpr Flag kFlags[] = {
    {"profile", 0, "NAME[@N]", "create: a recipe of settings (atoll profile ls)"},
    {"driver", 0, "NAME", "create: the driver; without it, as a request without one"},
    {"image", 0, "NAME", "create: an image of the driver's engine as the root file system"},
    {"template", 0, "NAME[:TAG]", "create: a template as the root file system"},
    {"runtime", 0, "NAME", "create: a runtime of the driver's engine"},
    {"min-isolation", 0, "LEVEL", "create: the weakest allowed"},
    {"placement", 0, "WHERE", "create: how far away they may run"},
    {"network", 0, "WHAT", "create: none, or bridge with a profile that allows it"},
    {"persistence", 0, "WHAT", "create: ephemeral (default), or persistent"},
    {"memory", 'm', "SIZE", "create: at most this much memory each: 256m, 1g"},
    {"cpus", 0, "N", "create: at most this many processors each"},
    {"pids", 0, "N", "create: at most this many processes each"},
    {"disk", 0, "SIZE", "create: at most this much disk each"},
    {"min", 0, "N", "create, set: so many are ready, however quiet it is"},
    {"target", 0, "N", "create, set: so many while the pool is in use"},
    {"max", 0, "N", "create, set: so many when more is asked for"},
    {"idle", 0, "TIME", "create, set: what was not needed for so long is given back"},
    {"max-age", 0, "TIME", "create, set: what waited for so long is replaced"},
    {"corrupted", 0, "", "release: keep nothing of it, of one with --checkpoint neither"},
};

struct Asked {
  std::optional<std::string> name;
  std::optional<std::string> profile;
  std::optional<std::string> driver;
  std::optional<std::string> image;
  std::optional<std::string> template_;
  std::optional<std::string> runtime;
  std::optional<std::string> min_isolation;
  std::optional<std::string> placement;
  std::optional<std::string> network;
  std::optional<std::string> persistence;
  std::optional<Resources> resources;
  std::optional<int64_t> min;
  std::optional<int64_t> target;
  std::optional<int64_t> max;
  std::optional<int64_t> idle_s;
  std::optional<int64_t> max_age_s;
};
BOOST_DESCRIBE_STRUCT(Asked, (),
                      (name, profile, driver, image, template_, runtime, min_isolation, placement,
                       network, persistence, resources, min, target, max, idle_s, max_age_s))

std::string path_to(const std::string& pool, std::string_view below = "") {
  return "/v1/pools/" + net::percent_encode(pool) + std::string(below);
}

Result<std::optional<int64_t>> count_from(const Args& args, std::string_view flag) {
  const auto text = args.find(flag);
  if (!text) return std::optional<int64_t>();
  int64_t number = 0;
  const auto [end, trouble] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (trouble != std::errc() || end != text->data() + text->size() || number < 0) {
    return usage_error(fmt::format("--{}: '{}' is no number", flag, to_printable(*text)));
  }
  return std::optional(number);
}

Result<> take_size(const Args& args, Asked& asked) {
  TRY(asked.min, count_from(args, "min"));
  TRY(asked.target, count_from(args, "target"));
  TRY(asked.max, count_from(args, "max"));
  if (const auto text = args.find("idle")) {
    TRY(asked.idle_s, parse_seconds("idle", *text));
  }
  if (const auto text = args.find("max-age")) {
    TRY(asked.max_age_s, parse_seconds("max-age", *text));
  }
  return {};
}

Result<int> tell_name(Context& context, const std::string& text) {
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  TRY_OK(print(single_line(text_at(answer, "name")) + "\n"));
  return 0;
}

Result<int> create(Context& context) {
  const Args& args = context.args;
  Asked asked;
  asked.name = args.words()[1];
  asked.profile = args.find("profile");
  asked.driver = args.find("driver");
  asked.image = args.find("image");
  asked.template_ = args.find("template");
  asked.runtime = args.find("runtime");
  asked.min_isolation = args.find("min-isolation");
  asked.placement = args.find("placement");
  asked.network = args.find("network");
  asked.persistence = args.find("persistence");
  TRY(const auto resources, resources_from(args));
  if (resources != Resources{}) asked.resources = resources;
  TRY_OK(take_size(args, asked));
  const auto size =
      policy::settle({asked.min, asked.target, asked.max, asked.idle_s, asked.max_age_s});
  if (!size) return usage_error("--" + size.error().message());
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->post("/v1/pools", json::encode(asked)));
  return tell_name(context, text);
}

Result<int> set(Context& context) {
  Asked asked;
  TRY_OK(take_size(context.args, asked));
  if (json::encode(asked) == "{}") {
    return usage_error("there is nothing to change")
        .with_hint("for example: atoll pool set --max 8 POOL");
  }
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->patch(path_to(context.args.words()[1]), json::encode(asked)));
  return tell_name(context, text);
}

Result<int> list(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get("/v1/pools"));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"NAME", "READY", "LEVEL", "MIN", "TARGET", "MAX", "HITS", "MISSES", "RATE", "HIT",
              "MISS", "FILL"}};
  std::string names;
  for (const json::Value& one : list_at(answer, "pools")) {
    const auto count = [&](std::string_view name) {
      return fmt::format("{:.0f}", number_at(one, name));
    };
    const json::Value& hits = at(one, "hits");
    const json::Value& misses = at(one, "misses");
    const auto time = [&](std::string_view what) {
      const json::Value& times = at(one, what);
      const bool had_any = number_at(times, "count") > 0;
      return had_any ? fmt::format("{:.2f} ms", number_at(times, "mean_ms")) : "-";
    };
    const bool was_asked = number_at(hits, "count") + number_at(misses, "count") > 0;
    const std::string name = single_line(text_at(one, "name"));
    names += name + "\n";
    const bool is_well = text_at(one, "trouble").empty();
    rows.push_back({name, Cell(count("ready"), is_well ? Ink::plain : Ink::bad), count("level"),
                    count("min"), count("target"), count("max"),
                    fmt::format("{:.0f}", number_at(hits, "count")),
                    fmt::format("{:.0f}", number_at(misses, "count")),
                    was_asked ? fmt::format("{:.0f} %", 100 * number_at(one, "hit_rate")) : "-",
                    time("hits"), time("misses"), time("fills")});
  }
  TRY_OK(print(context.quiet() ? names : table_for_stdout(rows)));
  return 0;
}

Result<int> show(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(path_to(context.args.words()[1])));
  return show_answer(context, text);
}

Result<int> drain(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->post(path_to(context.args.words()[1], "/drain"), "{}"));
  return tell_name(context, text);
}

Result<int> acquire(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->post(path_to(context.args.words()[1], "/acquire"), "{}"));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  TRY_OK(print(single_line(text_at(answer, "id")) + "\n"));
  return 0;
}

Result<int> release(Context& context) {
  const std::string& box = context.args.words()[1];
  TRY(const auto client, open_client(context));
  const char* how = context.args.has("corrupted") ? R"({"corrupted":true})" : "{}";
  TRY_OK(client->post(sandbox_path(box) + "/release", how));
  if (context.json()) {
    TRY_OK(print("{\"ok\":true}\n"));
  } else if (!context.quiet()) {
    TRY_OK(print(box + "\n"));
  }
  return 0;
}

Result<int> remove(Context& context) {
  TRY(const auto client, open_client(context));
  const auto& words = context.args.words();
  for (size_t i = 1; i < words.size(); ++i) {
    TRY_OK(client->remove(path_to(words[i])));
    if (!context.json() && !context.quiet()) TRY_OK(print(words[i] + "\n"));
  }
  if (context.json()) TRY_OK(print("{\"ok\":true}\n"));
  return 0;
}

constexpr Subverb kSubverbs[] = {{"ls", 0, 0, list},         {"create", 1, 1, create},
                                 {"show", 1, 1, show},       {"set", 1, 1, set},
                                 {"drain", 1, 1, drain},     {"acquire", 1, 1, acquire},
                                 {"release", 1, 1, release}, {"rm", 1, kMostNamed, remove}};

Result<int> run_pool(Context& context) { return run_subverb(context, "pool", kSubverbs); }

}  // namespace

const Verb kPoolVerb{
    .grammar = {.verb = "pool",
                .usage = "[FLAGS] ls | create POOL | show POOL | set POOL | drain POOL | "
                         "acquire POOL | release BOX | rm POOL…",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1 + kMostNamed},
    .group = kTemplatesGroup,
    .summary = "Keep sandboxes ready, so that nobody waits for them",
    .more =
        "Whoever asks for just such a sandbox gets one that is running already: atoll run and\n"
        "atoll create need not name the pool, and atoll pool acquire does. A profile that has\n"
        "`pool` has one of its name. drain ends what waits, and the pool fills anew. release ends\n"
        "a sandbox, as atoll rm does: what somebody has used nobody gets. ls tells how many of "
        "the\n"
        "requests found one ready (RATE), and how long those waited (HIT), and the others (MISS).",
    .run = run_pool};

}  // namespace atl::cli
