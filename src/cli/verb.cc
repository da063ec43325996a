#include "cli/verb.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>

#include "base/text.h"
#include "cli/configured.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/target.h"
#include "cli/verbs.h"
#include "telemetry/log.h"

namespace atl::cli {
namespace {

constexpr Flag kEverywhere[] = {
    {"json", 0, "", "answer in JSON, errors too"},
    {"quiet", 'q', "", "say less"},
    {"url", 0, "URL", "the daemon: http://host:port, https://host, unix:/path (ATOLL_URL)"},
    {"state", 0, "DIR", "the state directory whose daemon is meant (ATOLL_STATE)"},
    {"config", 0, "FILE", "this configuration instead of the project's; none = no file"},
    {"help", 'h', "", "this text"},
};

// What may stand without a verb.
constexpr Flag kAlone[] = {{"version", 0, "", "the same as the verb"}};

// Group by group.
constexpr const Verb* kVerbs[] = {
    &kRunVerb,        &kMapVerb,     &kCreateVerb,  &kExecVerb,      &kAttachVerb, &kStopVerb,
    &kStartVerb,      &kPauseVerb,   &kResumeVerb,  &kResizeVerb,    &kRenewVerb,  &kForkVerb,
    &kSnapshotVerb,   &kResetVerb,   &kSessionVerb, &kRmVerb,        &kPsVerb,     &kInspectVerb,
    &kLogsVerb,       &kStatsVerb,   &kTopVerb,     &kEventsVerb,    &kTraceVerb,  &kPlanVerb,
    &kCpVerb,         &kFindVerb,    &kGrepVerb,    &kWatchVerb,     &kDiffVerb,   &kTemplateVerb,
    &kProfileVerb,    &kPoolVerb,    &kPortVerb,    &kKeysVerb,      &kTokenVerb,  &kLimitsVerb,
    &kServeVerb,      &kDownVerb,    &kDriversVerb, &kExtensionVerb, &kDoctorVerb, &kConfigVerb,
    &kCompletionVerb, &kVersionVerb,
};

// Flags that every verb takes may also stand before the verb; they are then the verb's first.
struct Split {
  std::vector<std::string> before;
  std::string verb;
  std::vector<std::string> after;
};

Split split_verb(std::span<const std::string> arguments) {
  Split split;
  size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with('-'); ++at) {
    split.before.push_back(arguments[at]);
    const bool takes_next =
        arguments[at] == "--url" || arguments[at] == "--state" || arguments[at] == "--config";
    if (takes_next && at + 1 < arguments.size()) split.before.push_back(arguments[++at]);
  }
  if (at < arguments.size()) split.verb = arguments[at++];
  split.after.assign(arguments.begin() + static_cast<ptrdiff_t>(at), arguments.end());
  return split;
}

bool asks_for_json(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--json") return true;
  }
  return false;
}

int fail(const Error& error, std::string_view request_id, bool json) {
  const int code = exit_code_of(error);
  if (is_output_gone(error)) return code;
  // Whoever closed stdout is told all the same.
  if (!json || !print(to_json(error, request_id))) tell_error(error, request_id);
  return code;
}

Error unknown_verb(const std::string& name) {
  std::vector<std::string> known{"help"};
  for (const Verb* verb : kVerbs) known.emplace_back(verb->grammar.verb);
  const std::string near = did_you_mean(name, known);
  Error error = usage_error("no such verb: " + to_printable(name));
  if (near.empty()) return std::move(error).with_hint("atoll help lists them");
  return std::move(error).with_hint("did you mean: atoll " + near);
}

int show_help(const std::string& about) {
  const Verb* verb = find_verb(about);
  if (verb == nullptr && !about.empty()) return fail(unknown_verb(about), "", false);
  const auto shown = print(verb != nullptr ? describe(*verb) : describe_verbs());
  return shown ? 0 : exit_code_of(shown.error());
}

}  // namespace

constinit const std::span<const Flag> kEverywhereFlags = kEverywhere;

std::span<const Verb* const> all_verbs() { return kVerbs; }

const Verb* find_verb(std::string_view name) {
  const auto found =
      std::ranges::find_if(kVerbs, [&](const Verb* verb) { return verb->grammar.verb == name; });
  return found != std::end(kVerbs) ? *found : nullptr;
}

std::string describe(const Verb& verb) {
  std::string text = fmt::format("usage: atoll {} {}\n\n{}\n\n{}", verb.grammar.verb,
                                 verb.grammar.usage, verb.summary, describe_flags(verb.grammar));
  if (!verb.more.empty()) text += fmt::format("\n{}\n", verb.more);
  return text;
}

std::string describe_verbs() {
  std::string text =
      "usage: atoll VERB [FLAGS] …\n\nRuns code that nobody vouched for in a sandbox.\n";
  std::string_view headline;
  for (const Verb* verb : kVerbs) {
    if (verb->group.headline() != headline) text += fmt::format("\n{}\n", verb->group.headline());
    headline = verb->group.headline();
    text += fmt::format("  {:<10} {}\n", verb->grammar.verb, verb->summary);
  }
  return text +
         "\nEvery verb explains itself: atoll VERB --help\n\n"
         "exit codes: the program's own; 124 timeout; 125 Atoll failed or refused;\n"
         "126 denied or not executable; 127 not found; 128+N ended by signal N; 2 usage\n";
}

int run_command_line(Program& program, std::span<const std::string> arguments) {
  Split split = split_verb(arguments);
  if (split.verb.empty() || split.verb == "help") {
    const bool version = std::ranges::find(split.before, "--version") != split.before.end();
    if (version && split.verb.empty())
      return run_command_line(program, std::vector<std::string>{"version"});
    if (!split.verb.empty()) return show_help(split.after.empty() ? "" : split.after.front());
    const bool asked = std::ranges::find(split.before, "--help") != split.before.end() ||
                       std::ranges::find(split.before, "-h") != split.before.end();
    if (asked) return show_help("");
    const auto known =
        Args::parse({.verb = "help", .flags = {kAlone, kEverywhereFlags}}, split.before);
    if (!known) return fail(known.error(), "", asks_for_json(split.before));
    tell(describe_verbs() + "\nto begin: atoll run -- echo hello");
    return kExitUsage;
  }
  const Verb* verb = find_verb(split.verb);
  if (verb == nullptr) return fail(unknown_verb(split.verb), "", asks_for_json(arguments));

  split.before.insert(split.before.end(), split.after.begin(), split.after.end());
  auto args = Args::parse(verb->grammar, split.before);
  if (!args) return fail(args.error(), "", asks_for_json(split.before));
  if (args->has("help")) return show_help(split.verb);
  // The daemon logs; a command says what it has to say itself, unless somebody is looking for a
  // fault.
  if (verb != &kServeVerb && getenv("ATOLL_LOG") == nullptr)
    telemetry::set_level(telemetry::Level::error);

  // What a file configures may name an extension, and may say where that is noted.
  if (auto state = state_directory_from(*args, find_variable)) program.use_state(*std::move(state));
  if (const auto configured = configure(*verb, *args, program); !configured) {
    return fail(configured.error(), "", args->has("json"));
  }
  if (auto state = state_directory_from(*args, find_variable)) program.use_state(*std::move(state));
  Context context{*args, program, ""};
  const auto code = verb->run(context);
  return code ? *code : fail(code.error(), context.request_id, context.json());
}

}  // namespace atl::cli
