// `atoll profile`: the recipes that sandboxes can be made by.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "api/v1/profile_wire.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/profile_source.h"
#include "cli/report.h"
#include "cli/shown_answer.h"
#include "cli/subverb.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "config/kinds.h"
#include "core/profile_use.h"
#include "core/request_check.h"
#include "json/encode.h"
#include "net/http_message.h"
#include "policy/profile_files.h"

namespace atl::cli {
namespace {

constexpr size_t kMostFiles = 200;

constexpr Flag kFlags[] = {
    {"profiles", 0, "PATH", "a file or a directory with profiles of your own"},
};

// A daemon's, or those that an engine of ours would have.
Result<std::string> fetch_all(Context& context) {
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  const bool are_ours = context.args.given("profiles");
  if (!search.found || are_ours) {
    if (!are_ours) TRY_OK(check_that_nobody_was_meant(search));
    TRY(const auto profiles, load_profiles(context.args, Asking::for_sandbox));
    return api::v1::encode_profiles(*profiles);
  }
  TRY(const auto client, connect_client(context, *search.found));
  return client->get("/v1/profiles");
}

Result<std::string> fetch(Context& context, const std::string& name) {
  const auto reference = policy::parse_profile_reference(name);
  if (!reference) return usage_error(reference.error().message());
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  const bool are_ours = context.args.given("profiles");
  if (!search.found || are_ours) {
    if (!are_ours) TRY_OK(check_that_nobody_was_meant(search));
    TRY(const auto profiles, load_profiles(context.args, Asking::for_sandbox));
    TRY(const auto* known, profiles->get(name));
    return api::v1::encode_profile(*known);
  }
  TRY(const auto client, connect_client(context, *search.found));
  return client->get("/v1/profiles/" + net::percent_encode(name));
}

Result<int> list(Context& context) {
  TRY(const std::string text, fetch_all(context));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"NAME", "VERSION", "FLOOR", "SOURCE", "WHAT IT IS FOR"}};
  std::string names;
  for (const json::Value& one : list_at(answer, "profiles")) {
    const auto word = [&](std::string_view name) { return single_line(text_at(one, name)); };
    // The highest version comes first, and is what the name alone means.
    const bool is_newest = ("\n" + names).find("\n" + word("name") + "\n") == std::string::npos;
    names += (is_newest ? word("name") : word("reference")) + "\n";
    const std::string floor = word("min_isolation");
    rows.push_back({word("name"), fmt::format("{:.0f}", number_at(one, "version")),
                    floor.empty() ? "-" : floor, word("source"), word("description")});
  }
  TRY_OK(print(context.quiet() ? names : table_for_stdout(rows)));
  return 0;
}

Result<int> show(Context& context) {
  TRY(const std::string text, fetch(context, context.args.words()[1]));
  return show_answer(context, text);
}

std::string shown(const json::Value& value) {
  if (const auto* words = value.if_string()) return {words->data(), words->size()};
  return json::encode(value);
}

// As the settings are called in a file.
std::string file_name_of(const std::string& path) {
  static const std::map<std::string, std::string> kNames{
      {"ttl_s", "ttl"},
      {"idle_s", "idle"},
      {"pool.idle_s", "pool.idle"},
      {"pool.max_age_s", "pool.max_age"},
      {"keep_s", "keep"},
      {"timeout_ms", "timeout"},
      {"readiness.interval_ms", "readiness.interval"},
      {"readiness.timeout_ms", "readiness.timeout"},
      {"resources.cpu", "resources.cpus"},
      {"resources.memory_mb", "resources.memory"},
      {"resources.disk_mb", "resources.disk"}};
  const auto found = kNames.find(path);
  return found == kNames.end() ? path : found->second;
}

std::string in_file_words(const std::string& path, const json::Value& value) {
  if (path.ends_with("_s")) return shown(value) + "s";
  if (path.ends_with("_ms")) return shown(value) + "ms";
  if (path.ends_with("_mb")) return shown(value) + "m";
  return shown(value);
}

// "resources.memory" → "256m", "env.CI" → "(set)".
std::map<std::string, std::string> flatten(const json::Value& profile) {
  std::map<std::string, std::string> flat;
  const auto* settings = at(profile, "settings").if_object();
  if (settings == nullptr) return flat;
  for (const auto& member : *settings) {
    const std::string name(member.key());
    if (name == "env" && member.value().is_array()) {
      for (const auto& variable : member.value().get_array()) {
        flat["env." + shown(variable)] = "(set)";
      }
    } else if (const auto* inner = member.value().if_object()) {
      for (const auto& one : *inner) {
        const std::string path = name + "." + std::string(one.key());
        flat[file_name_of(path)] = in_file_words(path, one.value());
      }
    } else {
      flat[file_name_of(name)] = in_file_words(name, member.value());
    }
  }
  return flat;
}

Result<int> explain(Context& context) {
  TRY(const std::string text, fetch(context, context.args.words()[1]));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  const auto* from = at(answer, "from").if_object();
  Table rows{{"SETTING", "VALUE", "SAID BY"}};
  for (const auto& [name, value] : flatten(answer)) {
    const json::Value* who = from == nullptr ? nullptr : from->if_contains(name);
    // What is said as one is told part by part.
    if (from != nullptr && who == nullptr) who = from->if_contains(name.substr(0, name.find('.')));
    rows.push_back(
        {single_line(name), single_line(value), who == nullptr ? "-" : single_line(shown(*who))});
  }
  std::string chain;
  for (const json::Value& step : list_at(answer, "chain")) {
    chain += (chain.empty() ? "" : " ← ") + single_line(shown(step));
  }
  TRY_OK(print(fmt::format("{}: {}\n{}\n\n{}", single_line(text_at(answer, "reference")),
                           single_line(text_at(answer, "description")), chain,
                           table_for_stdout(rows))));
  return 0;
}

Result<int> diff(Context& context) {
  const auto& words = context.args.words();
  TRY(const std::string one, fetch(context, words[1]));
  TRY(const std::string other, fetch(context, words[2]));
  TRY(const auto left, parse_answer(one));
  TRY(const auto right, parse_answer(other));
  const auto before = flatten(left);
  const auto after = flatten(right);
  std::map<std::string, std::pair<std::string, std::string>> differing;
  for (const auto& [name, value] : before) differing[name] = {value, "-"};
  for (const auto& [name, value] : after) {
    const auto [place, is_new] = differing.try_emplace(name, "-", value);
    if (!is_new) place->second.second = value;
  }
  std::erase_if(differing,
                [](const auto& entry) { return entry.second.first == entry.second.second; });
  if (context.json()) {
    std::map<std::string, std::vector<std::string>> told;
    for (const auto& [name, values] : differing) told[name] = {values.first, values.second};
    TRY_OK(print(json::encode(told) + "\n"));
  } else {
    Table rows{{"SETTING", single_line(text_at(left, "reference")),
                single_line(text_at(right, "reference"))}};
    for (const auto& [name, values] : differing) {
      rows.push_back({single_line(name), single_line(values.first), single_line(values.second)});
    }
    if (!differing.empty()) TRY_OK(print(table_for_stdout(rows)));
  }
  return differing.empty() ? 0 : 1;
}

// What only a request can show: a size that nobody may have, a label that is none.
void check_use(const policy::Profiles& profiles, std::vector<Error>& problems) {
  for (const policy::KnownProfile* known : profiles.all()) {
    CreateRequest request;
    merge_profile(request, known->profile);
    auto fine = check_create(request, {});
    if (fine) continue;
    problems.push_back(
        std::move(fine).error().with("profile " + known->profile.reference()).with(known->file));
  }
}

// A driver that nobody has is no error: another Atoll may have it.
std::vector<std::string> unknown_drivers(const Context& context, const policy::Profiles& profiles) {
  const auto built = context.program.driver_names();
  std::vector<std::string> warnings;
  for (const policy::KnownProfile* known : profiles.all()) {
    const policy::Profile& profile = known->profile;
    for (const auto& name : profile.drivers.value_or(std::vector<std::string>{})) {
      if (std::ranges::find(built, name) != built.end() || config::find_kind(name) != nullptr)
        continue;
      warnings.push_back(known->file + ": profile " + profile.reference() +
                         ": drivers: no driver is called " + to_printable(name));
    }
  }
  return warnings;
}

Result<int> check(Context& context) {
  const auto& words = context.args.words();
  std::vector<policy::ProfileText> texts;
  if (words.size() == 1) {
    TRY(texts, profile_texts(context.args, Asking::for_sandbox));
  }
  for (size_t i = 1; i < words.size(); ++i) {
    TRY(auto read, policy::read_profile_files(words[i], policy::Origin::operators));
    for (auto& text : read) texts.push_back(std::move(text));
  }
  std::vector<Error> problems = policy::Profiles::check(texts);
  std::vector<std::string> warnings;
  size_t count = 0;
  if (problems.empty()) {
    TRY(const auto profiles, policy::Profiles::load(texts));
    check_use(*profiles, problems);
    warnings = unknown_drivers(context, *profiles);
    count = profiles->all().size();
  }
  if (context.json()) {
    std::vector<std::map<std::string, std::string>> told;
    told.reserve(problems.size());
    for (const Error& problem : problems) {
      told.push_back({{"message", problem.message()}, {"hint", problem.hint()}});
    }
    TRY_OK(print(R"({"problems":)" + json::encode(told) + R"(,"warnings":)" +
                 json::encode(warnings) + "}\n"));
    return problems.empty() ? 0 : 1;
  }
  for (const auto& warning : warnings) tell("warning: " + to_printable(warning));
  std::string out;
  for (const Error& problem : problems) {
    out += "error: " + to_printable(problem.message()) + "\n";
    if (!problem.hint().empty()) out += "  hint: " + to_printable(problem.hint()) + "\n";
  }
  if (problems.empty() && !context.quiet()) {
    out = fmt::format("{} profiles, built-in ones included, are fine\n", count);
  }
  TRY_OK(print(out));
  return problems.empty() ? 0 : 1;
}

constexpr Subverb kSubverbs[] = {{"ls", 0, 0, list},
                                 {"show", 1, 1, show},
                                 {"check", 0, kMostFiles, check},
                                 {"diff", 2, 2, diff},
                                 {"explain", 1, 1, explain}};

Result<int> run_profile(Context& context) { return run_subverb(context, "profile", kSubverbs); }

}  // namespace

const Verb kProfileVerb{
    .grammar = {.verb = "profile",
                .usage = "[FLAGS] ls | show NAME | explain NAME | diff NAME NAME | check [PATH…]",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1 + kMostFiles},
    .group = kTemplatesGroup,
    .summary = "Look at the recipes that sandboxes can be made by",
    .more =
        "NAME is NAME[@VERSION]; without a version it is the highest. explain tells which profile "
        "says what;\n"
        "check reads files and directories, or what is configured, and ends with 1 if anything is "
        "wrong;\n"
        "diff ends with 1 if there is a difference. Use one with: atoll run --profile NAME",
    .run = run_profile};

}  // namespace atl::cli
