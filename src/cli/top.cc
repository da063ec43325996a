// `atoll top`: what sandboxes use, again and again, the busiest first.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <unordered_map>

#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/full_screen.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/raw_terminal.h"
#include "cli/sandbox_list.h"
#include "cli/table.h"
#include "cli/text_width.h"
#include "cli/verbs.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"delay", 'd', "SECONDS", "how long between two looks (default 2)"},
    {"count", 'n', "N", "look so often, then leave; without a terminal, once"},
};
constexpr double kShortestDelay = 0.1, kLongestDelay = 3600;
constexpr uint64_t kMostLooks = 1'000'000'000;

using Instant = std::chrono::steady_clock::time_point;

struct Row {
  std::string id;
  std::string name;
  double cpu_percent = 0;
  double cpu_ms = 0;
  uint64_t memory_bytes = 0;
  uint64_t processes = 0;
  bool is_braked = false;
};

// Remembers how much processor time each sandbox had used, to tell how busy it is now.
class Watcher final {
 public:
  Result<std::vector<Row>> look(Client& client) {
    TRY(const auto sandboxes, fetch_sandboxes(client, "state=running"));
    const Instant now = std::chrono::steady_clock::now();
    std::unordered_map<std::string, Seen> seen;
    std::vector<Row> rows;
    for (const json::Value& sandbox : sandboxes) {
      Row row{.id = text_at(sandbox, "id"), .name = text_at(sandbox, "name")};
      const auto text = client.get(sandbox_path(row.id, "/stats"));
      if (!text) continue;  // it has ended since
      TRY(const auto stats, parse_answer(*text));
      row.cpu_ms = number_at(stats, "cpu_ms");
      row.memory_bytes = static_cast<uint64_t>(number_at(stats, "memory_bytes"));
      row.processes = static_cast<uint64_t>(number_at(stats, "processes"));
      row.is_braked = number_at(stats, "braked") > 0;
      row.cpu_percent = percent(row, now);
      seen[row.id] = {now, row.cpu_ms};
      rows.push_back(std::move(row));
    }
    seen_ = std::move(seen);
    std::ranges::sort(rows, [](const Row& a, const Row& b) {
      return std::pair(a.cpu_percent, a.memory_bytes) > std::pair(b.cpu_percent, b.memory_bytes);
    });
    return rows;
  }

 private:
  struct Seen {
    Instant at;
    double cpu_ms = 0;
  };

  double percent(const Row& row, Instant now) const {
    const auto before = seen_.find(row.id);
    if (before == seen_.end()) return 0;
    const double passed_ms =
        std::chrono::duration<double, std::milli>(now - before->second.at).count();
    return passed_ms > 0 ? std::max(0.0, 100 * (row.cpu_ms - before->second.cpu_ms) / passed_ms)
                         : 0;
  }

  std::unordered_map<std::string, Seen> seen_;
};

std::string table_of(const std::vector<Row>& rows, size_t most) {
  Table table{{"SANDBOX", "NAME", "CPU", "CPU TIME", "MEMORY", "PROCESSES"}};
  for (const Row& row : rows) {
    if (table.size() > most) break;
    table.push_back({single_line(row.id), row.name.empty() ? "-" : single_line(row.name),
                     fmt::format("{:.0f} %{}", row.cpu_percent, row.is_braked ? " (braked)" : ""),
                     format_ms(row.cpu_ms), format_bytes(row.memory_bytes),
                     std::to_string(row.processes)});
  }
  return table_for_stdout(table);
}

std::string heading_of(const std::vector<Row>& rows) {
  double cpu = 0;
  uint64_t memory = 0;
  for (const Row& row : rows) {
    cpu += row.cpu_percent;
    memory += row.memory_bytes;
  }
  return fmt::format("{} running · {:.0f} % of a processor · {} · q leaves", rows.size(), cpu,
                     format_bytes(memory));
}

std::string json_of(const std::vector<Row>& rows) {
  json::Array all;
  for (const Row& row : rows) {
    all.push_back(json::Object{{"sandbox", row.id},
                               {"name", row.name},
                               {"cpu_percent", row.cpu_percent},
                               {"cpu_ms", row.cpu_ms},
                               {"memory_bytes", row.memory_bytes},
                               {"processes", row.processes},
                               {"braked", row.is_braked}});
  }
  return json::encode(json::Value(std::move(all))) + "\n";
}

template <typename T>
Result<T> number_from(const Args& args, std::string_view flag, T least, T most, T usual) {
  const auto text = args.find(flag);
  if (!text) return usual;
  T number = 0;
  const auto [end, trouble] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool is_whole = trouble == std::errc() && end == text->data() + text->size();
  if (is_whole && number >= least && number <= most) return number;
  return usage_error(fmt::format("--{}: '{}' is not a number from {} to {}", flag,
                                 to_printable(*text), least, most));
}

std::string screen_of(const std::vector<Row>& rows) {
  const TerminalSize size = terminal_size();
  const size_t lines = std::max<size_t>(size.rows, 6) - 4;
  return shortened(heading_of(rows), size.columns) + "\n\n" + table_of(rows, lines);
}

// Looks again and again; the screen is drawn anew as soon as it has another size.
Result<int> watch_on_screen(Client& client, Millis wait, uint64_t count) {
  Watcher watcher;
  TRY(auto rows, watcher.look(client));
  TRY(const auto screen, FullScreen::open());
  for (uint64_t looks = 1;; ++looks) {
    for (auto news = FullScreen::News::redraw; news == FullScreen::News::redraw;) {
      TRY_OK(screen->show(screen_of(rows)));
      if (looks == count) return 0;
      TRY(news, screen->wait(wait));
      if (news == FullScreen::News::leave) return 0;
    }
    TRY(rows, watcher.look(client));
  }
}

Result<int> top(Context& context) {
  TRY(const double delay, number_from(context.args, "delay", kShortestDelay, kLongestDelay, 2.0));
  const bool is_screen = can_redraw(STDOUT_FILENO) && !context.json();
  const uint64_t usual = is_screen ? kMostLooks : 1;
  TRY(const uint64_t count, number_from(context.args, "count", uint64_t{1}, kMostLooks, usual));
  TRY(const auto client, open_client(context));
  const auto wait = Millis(static_cast<int64_t>(delay * 1000));
  if (is_screen) return watch_on_screen(*client, wait, count);
  Watcher watcher;
  for (uint64_t looks = 1;; ++looks) {
    TRY(const auto rows, watcher.look(*client));
    TRY_OK(print(context.json() ? json_of(rows) : table_of(rows, SIZE_MAX)));
    if (looks == count) return 0;
    ::poll(nullptr, 0, static_cast<int>(wait.count()));
  }
}

}  // namespace

const Verb kTopVerb{
    .grammar = {.verb = "top", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kLookGroup,
    .summary = "Watch what sandboxes use, the busiest first",
    .more = "q leaves. --json prints a list for each look.",
    .run = top};

}  // namespace atl::cli
