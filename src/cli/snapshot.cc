// `atoll snapshot`: what is kept of sandboxes, to make others from it.
#include "driver/snapshot.h"

#include <fmt/core.h>
#include <unistd.h>

#include <boost/describe/class.hpp>

#include "base/ids.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/each.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_flags.h"
#include "cli/shown_answer.h"
#include "cli/status_line.h"
#include "cli/subverb.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/encode.h"
#include "json/write.h"

namespace atl::cli {
namespace {

constexpr size_t kMostRemoved = 1'000;

constexpr Flag kFlags[] = {
    {"name", 0, "NAME", "create: a name to call it by"},
    {"label", 0, "K=V", "create: a label; may be repeated"},
    {"memory", 0, "", "create: keep processes and their memory, too, where the driver can"},
    {"box", 0, "BOX", "ls: only those of this sandbox"},
};

struct Asked {
  std::optional<std::string> name;
  std::optional<SnapshotKind> kind;
  std::optional<std::map<std::string, std::string>> labels;
};
BOOST_DESCRIBE_STRUCT(Asked, (), (name, kind, labels))

std::string path_to(const std::string& snapshot) {
  return "/v1/snapshots/" + net::percent_encode(snapshot);
}

Result<int> create(Context& context) {
  const std::string& sandbox = context.args.words()[1];
  Asked asked;
  asked.name = context.args.find("name");
  if (asked.name) {
    const auto fine = check_snapshot_name(*asked.name);
    if (!fine) return usage_error("--name: " + fine.error().message());
  }
  if (context.args.has("memory")) asked.kind = SnapshotKind::memory;
  TRY(auto labels, labels_from(context.args));
  if (!labels.empty()) asked.labels = std::move(labels);
  TRY(const auto client, open_client(context));
  StatusLine line(context);
  line.draw("keeping " + single_line(sandbox) + " …");
  TRY(const std::string text,
      client->post(sandbox_path(sandbox, "/snapshots"), json::encode(asked)));
  line.clear();
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  const std::string id = single_line(text_at(answer, "id"));
  TRY_OK(print(id + "\n"));
  const auto left_out = static_cast<uint64_t>(number_at(answer, "left_out"));
  if (left_out > 0 && !context.quiet())
    tell(fmt::format("atoll: left out {} files that are special or cannot be read", left_out));
  if (!context.quiet() && isatty(STDERR_FILENO) == 1) {
    tell_dim(fmt::format(
        "· {} · {} · atoll create --snapshot {}", single_line(text_at(answer, "driver")),
        format_bytes(static_cast<uint64_t>(number_at(answer, "bytes"))), asked.name.value_or(id)));
  }
  return 0;
}

Result<int> list(Context& context) {
  TRY(const auto client, open_client(context));
  std::string path = "/v1/snapshots";
  if (const auto box = context.args.find("box")) path += "?sandbox=" + net::percent_encode(*box);
  TRY(const std::string text, client->get(path));
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  Table rows{{"ID", "NAME", "KIND", "DRIVER", "OF", "SIZE", "STATE", "AGE"}};
  std::string ids;
  const WallTime now = system_clock().wall();
  for (const json::Value& one : list_at(answer, "snapshots")) {
    const auto word = [&](std::string_view name) { return single_line(text_at(one, name)); };
    ids += word("id") + "\n";
    rows.push_back({word("id"), word("name"), word("kind"), word("driver"), word("sandbox"),
                    format_bytes(static_cast<uint64_t>(number_at(one, "bytes"))), word("state"),
                    format_since(word("created_at"), now)});
  }
  TRY_OK(print(context.quiet() ? ids : table_for_stdout(rows)));
  return 0;
}

Result<int> show(Context& context) {
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(path_to(context.args.words()[1])));
  return show_answer(context, text);
}

Result<int> remove(Context& context) {
  TRY(const auto client, open_client(context));
  const auto& words = context.args.words();
  return for_each(context, *client, {words.begin() + 1, words.end()},
                  [](Client& daemon, const std::string& snapshot) -> Result<std::string> {
                    TRY_OK(daemon.remove(path_to(snapshot)));
                    std::string out = R"({"id":)";
                    json::write_string(out, snapshot);
                    return out + R"(,"removed":true})";
                  });
}

constexpr Subverb kSubverbs[] = {{"create", 1, 1, create},
                                 {"ls", 0, 0, list},
                                 {"show", 1, 1, show},
                                 {"rm", 1, kMostRemoved, remove}};

Result<int> run_snapshot(Context& context) { return run_subverb(context, "snapshot", kSubverbs); }

}  // namespace

const Verb kSnapshotVerb{
    .grammar = {.verb = "snapshot",
                .usage = "[FLAGS] create SANDBOX | ls | show SNAPSHOT | rm SNAPSHOT…",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = 1 + kMostRemoved},
    .group = kSandboxesGroup,
    .summary = "Keep sandboxes as they are, to make others from them",
    .more =
        "A snapshot outlives its sandbox; SNAPSHOT is its id or its name. It holds the files of\n"
        "/workspace and /home/user, and with --persistent what was changed in the root. The\n"
        "environment is not in it. Use one with: atoll create --snapshot SNAPSHOT",
    .run = run_snapshot};

}  // namespace atl::cli
