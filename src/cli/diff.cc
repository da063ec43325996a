// `atoll diff`: what a sandbox changed in directories shown copy-on-write, and the way home for it.
#include "cli/diff.h"

#include <fmt/core.h>

#include "cli/changes.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "json/write.h"

namespace atl::cli {
namespace {

constexpr size_t kMostConflictsShown = 20;

constexpr Flag kFlags[] = {
    {"stat", 0, "", "only how many files"},
    {"apply", 0, "", "make the same changes in the directories of this host"},
    {"dry-run", 0, "", "with --apply: tell what would be done, and do nothing"},
    {"force", 0, "", "with --apply: also where the host's files have changed meanwhile"},
};

std::string to_json(const Applied& applied, bool rehearsed) {
  const auto list = [](std::string& out, std::string_view name,
                       const std::vector<std::string>& lines) {
    out += fmt::format(R"(,"{}":[)", name);
    for (const auto& line : lines) {
      if (out.back() != '[') out += ',';
      json::write_string(out, line);
    }
    out += ']';
  };
  std::string out = fmt::format(R"({{"ok":true,"dry_run":{},"applied":{})", rehearsed,
                                rehearsed ? 0 : applied.done.changes.size());
  list(out, "left_out", applied.left_out);
  list(out, "conflicts", applied.conflicts);
  return out + "}\n";
}

Result<int> apply(Context& context, Client& client, RemoteChanges& source,
                  const std::string& path) {
  if (!client.is_local()) {
    return Error(Code::permission_denied,
                 "the directories are on the daemon's host, which is another one")
        .with_hint("copy files instead: atoll cp BOX:PATH PATH");
  }
  const bool rehearsed = context.args.has("dry-run");
  const auto conflicts = context.args.has("force") ? Conflicts::overwrite : Conflicts::stop;
  TRY(const Changes changes, source.list(path));
  TRY(const Applied applied,
      apply_changes(source, changes, conflicts, rehearsed ? Doing::rehearse : Doing::apply));
  TRY_OK(tell_applied(context, applied, rehearsed ? Conflicts::overwrite : conflicts));
  if (context.json()) {
    TRY_OK(print(to_json(applied, rehearsed)));
  } else if (rehearsed || !context.quiet()) {
    TRY_OK(print(to_lines(applied.done)));
  }
  return 0;
}

Result<int> diff(Context& context) {
  const Args& args = context.args;
  if (!args.has("apply") && (args.has("dry-run") || args.has("force"))) {
    return usage_error("--dry-run and --force go with --apply");
  }
  if (args.has("apply") && args.has("stat")) {
    return usage_error("--stat and --apply contradict each other");
  }
  const std::string path = args.words().size() > 1 ? args.words()[1] : "";
  TRY(const auto client, open_client(context));
  RemoteChanges source(*client, args.words()[0]);
  if (args.has("apply")) return apply(context, *client, source, path);
  TRY(const std::string text, source.fetch(path));
  if (context.json() && !args.has("stat")) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  TRY(const Changes changes, changes_from(answer));
  if (!args.has("stat")) {
    TRY_OK(print(to_lines(changes)));
  } else if (context.json()) {
    TRY_OK(print(to_counts(changes) + "\n"));
  } else {
    TRY_OK(print(to_summary(changes) + "\n"));
  }
  return 0;
}

}  // namespace

Result<> tell_applied(const Context& context, const Applied& applied, Conflicts conflicts) {
  if (!context.quiet()) {
    for (const auto& line : applied.left_out) tell("atoll: left out " + line);
  }
  if (applied.conflicts.empty()) return {};
  const bool stopped = conflicts == Conflicts::stop;
  for (size_t i = 0; i < applied.conflicts.size() && (stopped || !context.quiet()); ++i) {
    if (i == kMostConflictsShown) {
      tell(fmt::format("atoll: and {} more", applied.conflicts.size() - i));
      break;
    }
    tell("atoll: changed here since the sandbox was made: " + applied.conflicts[i]);
  }
  if (!stopped) return {};
  return Error(Code::conflict, fmt::format("{} of the files have changed here meanwhile, so "
                                           "nothing was applied",
                                           applied.conflicts.size()))
      .with_hint("look at them, then: atoll diff BOX --apply --force");
}

const Verb kDiffVerb{
    .grammar = {.verb = "diff",
                .usage = "[FLAGS] BOX [PATH]",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 2},
    .group = kFilesGroup,
    .summary = "Show what a sandbox changed in directories shown copy-on-write",
    .more =
        "A is added, M modified, D deleted. --apply takes the changes home, as you: links are\n"
        "never followed, and devices, sockets and pipes are left out.",
    .run = diff};

}  // namespace atl::cli
