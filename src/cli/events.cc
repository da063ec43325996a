// `atoll events`: what becomes of sandboxes, as it happens.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_list.h"
#include "cli/screen.h"
#include "cli/verbs.h"
#include "client/line_reader.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"after", 0, "ID", "go on behind this event; 0 begins with the oldest that is kept"},
    {"box", 0, "BOX", "only of this sandbox"},
    {"into", 0, "STATE", "only what leads to this state: running, failed, destroyed …"},
    {"no-runs", 0, "", "without the sandboxes of single runs"},
    {"once", 0, "", "show what is kept and leave"},
};

std::string query_from(const Args& args) {
  std::string query = args.has("no-runs") ? "runs=false" : "runs=true";
  const auto add = [&](std::string_view name, std::optional<std::string> value) {
    if (value) query += "&" + std::string(name) + "=" + net::percent_encode(*value);
  };
  add("sandbox", args.find("box"));
  add("state", args.find("into"));
  return query;
}

std::string line_of(const json::Value& event) {
  const auto text = [&](std::string_view name) { return single_line(text_at(event, name)); };
  if (text("type") == "reset")
    return fmt::format("(some events are missing: {})\n", text("reason"));
  const std::string name = text("name");
  const std::string reason = text("reason");
  if (text("type").starts_with("driver.")) {
    const std::string why = reason.empty() ? "" : fmt::format("  ({})", reason);
    return fmt::format("{}  driver {}  {}{}\n", inked_for(STDOUT_FILENO, text("at"), Ink::dim),
                       text("driver"), text("type").substr(std::string_view("driver.").size()),
                       why);
  }
  const std::string state = text("state");
  const json::Value* progress = event.get_object().if_contains("progress");
  if (progress != nullptr) {
    const double done = number_at(*progress, "done");
    const double total = number_at(*progress, "total");
    return fmt::format("{}  {}  {} {:.0f} of {} bytes{}\n",
                       inked_for(STDOUT_FILENO, text("at"), Ink::dim), text("sandbox"),
                       single_line(text_at(*progress, "stage")), done,
                       total > 0 ? fmt::format("{:.0f}", total) : "an unknown number of",
                       name.empty() ? "" : "  " + name);
  }
  std::string line = fmt::format(
      "{}  {}  {:>8} → {}", inked_for(STDOUT_FILENO, text("at"), Ink::dim), text("sandbox"),
      text("from"), inked_for(STDOUT_FILENO, fmt::format("{:<9}", state), ink_of_state(state)));
  if (!name.empty()) line += "  " + name;
  if (!reason.empty()) line += "  (" + reason + ")";
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

Result<> show_kept(const Context& context, Client& client, const std::string& query) {
  std::string after = context.args.find("after").value_or("0");
  for (;;) {
    TRY(const std::string text,
        client.get("/v1/events?limit=1000&" + query + "&after=" + net::percent_encode(after)));
    TRY(const auto page, parse_answer(text));
    const auto& events = list_at(page, "events");
    for (const json::Value& event : events) {
      TRY_OK(print(context.json() ? json::encode(event) + "\n" : line_of(event)));
    }
    after = text_at(page, "last");
    if (events.empty()) return {};
  }
}

// Events as they come, from one daemon after the other.
class Follower final {
 public:
  Follower(Context& context, std::string query)
      : context_(context), query_(std::move(query)), last_(context.args.find("after")) {}

  // Whoever restarts the daemon does not end those who listen to it: they go on behind the last
  // event that they have seen. Comes back with the first failure that waiting would not mend.
  Result<> follow() {
    TRY(auto client, open_client(context_));
    for (;;) {
      auto ended = listen(*client);
      const bool is_daemon_gone = ended || ended.error().code() == Code::unavailable;
      if (is_shown_in_vain_ || !is_daemon_gone) return ended;
      client.reset();
      TRY(client, wait_for_daemon());
    }
  }

 private:
  Result<> listen(Client& client) {
    auto request = client.connection().make_request(
        net::Method::get,
        "/v1/events?" + query_ + (last_ ? "&after=" + net::percent_encode(*last_) : ""));
    request.headers.add("Accept", "application/x-ndjson");
    const auto on_line = [&](std::string_view line) { return show(line); };
    const ReaderWatch reader = leave_when_unread(client.loop().get_executor());
    return run_task(client.loop(),
                    client::read_lines(client.connection(), std::move(request), on_line));
  }

  Result<> show(std::string_view line) {
    if (line.empty()) return {};  // a sign of life
    TRY(const auto event, parse_answer(line));
    const auto printed = print(context_.json() ? std::string(line) + "\n" : line_of(event));
    is_shown_in_vain_ = !printed;
    TRY_OK(printed);
    if (auto id = text_at(event, "id"); !id.empty()) last_ = std::move(id);
    return {};
  }

  void say(std::string_view what) const {
    if (!context_.quiet()) tell(fmt::format("atoll: {}", what));
  }

  Result<std::unique_ptr<Client>> wait_for_daemon() {
    say(fmt::format("the daemon has stopped; waiting up to {} s for the next one",
                    kPatience.count()));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    do {
      std::this_thread::sleep_for(kBetweenTries);
      auto client = open_client(context_);
      if (client && (*client)->get("/readyz")) {
        say("the daemon is back");
        return client;
      }
    } while (std::chrono::steady_clock::now() < deadline);
    return Error(Code::unavailable, "the daemon has stopped")
        .with_hint("when it is back: atoll events --after " + last_.value_or("0"));
  }

  static constexpr std::chrono::seconds kPatience{60};
  static constexpr std::chrono::milliseconds kBetweenTries{200};

  Context& context_;
  std::string query_;
  std::optional<std::string> last_;  // event that was shown
  bool is_shown_in_vain_ = false;    // nobody reads what we print
};

Result<int> events(Context& context) {
  const std::string query = query_from(context.args);
  if (context.args.has("once")) {
    TRY(const auto client, open_client(context));
    TRY_OK(show_kept(context, *client, query));
    return 0;
  }
  TRY_OK(Follower(context, query).follow());
  return 0;
}

}  // namespace

const Verb kEventsVerb{
    .grammar = {.verb = "events", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kLookGroup,
    .summary = "Show what becomes of sandboxes, as it happens",
    .more =
        "--json prints an event per line; --after with the id of the last one that you have\n"
        "seen goes on where you were. When the daemon is restarted, so does this command.",
    .run = events};

}  // namespace atl::cli
