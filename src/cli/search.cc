// `atoll find` and `atoll grep`: files of a sandbox, looked for inside it.
#include <fmt/core.h>

#include <charconv>

#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "client/remote_files.h"

namespace atl::cli {
namespace {

constexpr Flag kFindFlags[] = {
    {"name", 'n', "PATTERN", "only names that match, as in a shell: '*.py'"},
    {"type", 't', "KIND", "only file, directory, symlink or other"},
    {"depth", 0, "N", "not deeper than this below PATH"},
    {"limit", 0, "N", "stop after so many (default 1000, at most 10000)"},
};

constexpr Flag kGrepFlags[] = {
    {"fixed", 'F', "", "the pattern is plain text"},
    {"ignore-case", 'i', "", "letters match in either case"},
    {"include", 0, "PATTERN", "only files whose names match, as in a shell: '*.py'"},
    {"limit", 0, "N", "stop after so many (default 1000, at most 10000)"},
};

std::string with_value(const Args& args, std::string_view flag, std::string_view parameter) {
  const auto value = args.find(flag);
  return value ? fmt::format("&{}={}", parameter, net::percent_encode(*value)) : "";
}

// None at all would look as if there were none.
Result<> check_limit(const Args& args) {
  const auto text = args.find("limit");
  if (!text) return {};
  constexpr int kMost = 10'000;
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, trouble] = std::from_chars(text->data(), end, number);
  if (trouble == std::errc() && stop == end && number >= 1 && number <= kMost) return {};
  return usage_error(
      fmt::format("--limit: '{}' is no number from 1 to {}", to_printable(*text), kMost));
}

Result<int> show(Context& context, const std::string& target, std::string_view list) {
  TRY_OK(check_limit(context.args));
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(target));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  std::string out;
  for (const json::Value& one : list_at(answer, list)) {
    TRY(const std::string path, bytes_at(one, "path"));
    out += single_line(path);
    if (list == "matches") {
      TRY(const std::string line, bytes_at(one, "text"));
      out += fmt::format(":{:.0f}:{}", number_at(one, "line"), single_line(line));
    }
    out += '\n';
  }
  TRY_OK(print(out));
  if (!context.quiet() && flag_at(answer, "truncated"))
    tell("atoll: there is more; raise --limit or look in fewer places");
  return list == "matches" && out.empty() ? 1 : 0;
}

Result<int> find(Context& context) {
  const auto& words = context.args.words();
  const std::string path = words.size() > 1 ? words[1] : ".";
  const std::string query = client::path_query(path) + with_value(context.args, "name", "name") +
                            with_value(context.args, "type", "kind") +
                            with_value(context.args, "depth", "depth") +
                            with_value(context.args, "limit", "limit");
  return show(context, sandbox_path(words[0], "/files/find?" + query), "entries");
}

Result<int> grep(Context& context) {
  const auto& words = context.args.words();
  const std::string path = words.size() > 2 ? words[2] : ".";
  std::string query = client::path_query(path) + "&pattern=" + net::percent_encode(words[1]) +
                      with_value(context.args, "include", "include") +
                      with_value(context.args, "limit", "limit");
  if (context.args.has("fixed")) query += "&fixed=true";
  if (context.args.has("ignore-case")) query += "&ignore_case=true";
  return show(context, sandbox_path(words[0], "/files/grep?" + query), "matches");
}

}  // namespace

const Verb kFindVerb{.grammar = {.verb = "find",
                                 .usage = "[FLAGS] BOX [PATH]",
                                 .flags = {kFindFlags, kEverywhereFlags},
                                 .least_words = 1,
                                 .most_words = 2},
                     .group = kFilesGroup,
                     .summary = "Find files of a sandbox by name and kind",
                     .more = "Without PATH, in the workspace. No link is followed.",
                     .run = find};

const Verb kGrepVerb{
    .grammar = {.verb = "grep",
                .usage = "[FLAGS] BOX PATTERN [PATH]",
                .flags = {kGrepFlags, kEverywhereFlags},
                .least_words = 2,
                .most_words = 3},
    .group = kFilesGroup,
    .summary = "Find lines in the files of a sandbox",
    .more =
        "PATTERN is a POSIX extended regular expression. Binary files are left out; the exit code "
        "is 1\n"
        "when nothing matches.",
    .run = grep};

}  // namespace atl::cli
