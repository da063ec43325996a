// `atoll watch`: what happens to the files of a sandbox, a line each.
#include <fmt/core.h>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/stream.h"
#include "cli/verbs.h"
#include "client/line_reader.h"
#include "client/remote_files.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"recursive", 'r', "", "also everything below"},
};

constexpr std::string_view kLines = "application/x-ndjson";

Result<> show(std::string_view line) {
  TRY(const auto event, parse_answer(line));
  const std::string type = text_at(event, "type");
  if (type == "ready" || type == "end") return {};
  if (type == "error") {
    const json::Value& problem = at(event, "problem");
    return Error(Code::unavailable, text_at(problem, "detail")).with_hint(text_at(problem, "hint"));
  }
  TRY(const std::string path, bytes_at(event, "path"));
  TRY(const std::string from, bytes_at(event, "from"));
  const std::string where =
      from.empty() ? single_line(path) : single_line(from) + " -> " + single_line(path);
  return print(fmt::format("{:<8} {}\n", type, where));
}

Result<int> watch(Context& context) {
  const auto& words = context.args.words();
  const std::string path = words.size() > 1 ? words[1] : ".";
  std::string query = client::path_query(path);
  if (context.args.has("recursive")) query += "&recursive=true";
  const std::string target = sandbox_path(words[0], "/files/watch?" + query);
  TRY(const auto client, open_client(context));
  if (context.json()) {
    TRY_OK(copy_stream(*client, target, kLines));
    return 0;
  }
  auto request = client->connection().make_request(net::Method::get, target);
  request.headers.set("Accept", kLines);
  request.timeouts.total.reset();
  const ReaderWatch reader = leave_when_unread(client->loop().get_executor());
  TRY_OK(
      run_task(client->loop(), client::read_lines(client->connection(), std::move(request), show)));
  return 0;
}

}  // namespace

const Verb kWatchVerb{.grammar = {.verb = "watch",
                                  .usage = "[FLAGS] BOX [PATH]",
                                  .flags = {kFlags, kEverywhereFlags},
                                  .least_words = 1,
                                  .most_words = 2},
                      .group = kFilesGroup,
                      .summary = "Tell what happens to the files of a sandbox",
                      .more =
                          "PATH is a directory; without it, the workspace. Ends with the "
                          "directory, or with Ctrl-C. A "
                          "line\n"
                          "that says overflow names a place where something was missed.",
                      .run = watch};

}  // namespace atl::cli
