// GET /v1/events: what becomes of sandboxes and drivers, as it happens; a client that was cut off
// goes on where it was.
#include <charconv>

#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/v1/handlers.h"
#include "core/event_log.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kAtATime = 256;
constexpr uint64_t kMostOnPage = 1'000;
// So often something is written to a client that waits, for it and for what stands between us.
constexpr Millis kHeartbeat = std::chrono::seconds(15);
constexpr size_t kLongestId = 64;

enum class Form : uint8_t { page, lines, server_sent };

Form find_form(const net::Request& request) {
  const std::string accept(request.headers.find("Accept").value_or(""));
  if (accept.find("text/event-stream") != std::string::npos) return Form::server_sent;
  if (accept.find("application/x-ndjson") != std::string::npos) return Form::lines;
  return Form::page;
}

struct Wish {
  std::string sandbox;  // an id or a name; "" = all
  std::optional<State> state;
  bool with_runs = true;

  bool wants(const SandboxEvent& event) const {
    if (event.is_of_driver()) return sandbox.empty() && !state;
    if (!sandbox.empty() && event.sandbox != sandbox && event.name != sandbox) return false;
    if (state && event.to != *state) return false;
    return with_runs || !event.is_run;
  }
};

// Of drivers whoever may list them.
bool may_see(const Caller& caller, const SandboxEvent& event) {
  if (event.is_of_driver()) return may(caller, Action::survey);
  return sees(caller, event.tenant, event.owner, event.sandbox);
}

// Where a client begins.
struct Start {
  uint64_t after = 0;
  bool is_new_epoch = false;  // the client was listening to an earlier daemon
};

// "<epoch>-<number>" of an event, or "0": everything that is kept.
Result<Start> parse_start(const EventLog& log, std::string_view text) {
  if (text == "0") return Start{};
  const size_t dash = text.find('-');
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  if (text.size() <= kLongestId && dash != std::string_view::npos && dash > 0) {
    const auto [rest, trouble] = std::from_chars(text.data() + dash + 1, end, number);
    if (trouble == std::errc() && rest == end) {
      if (text.substr(0, dash) == log.epoch()) return Start{number, false};
      return Start{0, true};
    }
  }
  return Error(Code::invalid_argument, "after: no event had this id")
      .with_hint("use the id of the last event that came, as it was; 0 is the oldest that is kept")
      .at_stage("request");
}

// Who says nothing begins with what happens from now on, or, asking for a page, with the oldest.
Result<Start> find_start(const EventLog& log, const net::Request& request, Form form) {
  if (const auto last = request.headers.find("Last-Event-ID"); last && !last->empty())
    return parse_start(log, *last);
  if (const auto after = request.query.find("after")) return parse_start(log, *after);
  return Start{form == Form::page ? 0 : log.last(), false};
}

std::string id_of(const EventLog& log, uint64_t number) {
  return log.epoch() + "-" + std::to_string(number);
}

std::string type_of(const SandboxEvent& event) {
  if (event.is_of_driver()) return "driver." + event.driver_change;
  if (event.progress) return "sandbox.progress";
  const auto word = event.health ? json::name_of(*event.health) : json::name_of(event.to);
  return "sandbox." + std::string(word);
}

void append_event(std::string& out, const EventLog& log, const SandboxEvent& event) {
  ObjectWriter object(out);
  object.member("id", id_of(log, event.number));
  object.member("type", type_of(event));
  object.member("at", to_rfc3339(event.at));
  if (!event.is_of_driver()) object.member("sandbox", event.sandbox);
  if (!event.name.empty()) object.member("name", event.name);
  object.member("driver", event.driver);
  if (!event.is_of_driver()) {
    object.member("from", event.from);
    object.member("state", event.to);
  }
  if (event.health) object.member("health", *event.health);
  if (event.progress) {
    ObjectWriter progress(object.key("progress"));
    progress.member("stage", event.progress->stage);
    progress.member("done", event.progress->done);
    progress.member("total", event.progress->total);
    progress.close();
  }
  if (event.is_run) object.member("run", true);
  if (!event.reason.empty()) object.member("reason", event.reason);
  if (event.queue_position) object.member("queue_position", *event.queue_position);
  object.close();
}

// Some events that the client should have had are gone: what it knows is to be read anew.
std::string reset_of(const EventLog& log, uint64_t number, std::string_view why) {
  std::string out;
  ObjectWriter object(out);
  object.member("id", id_of(log, number));
  object.member("type", std::string_view("reset"));
  object.member("reason", why);
  object.close();
  return out;
}

class Stream final {
 public:
  Stream(Call& call, Form form) : call_(call), form_(form) {}

  Task<> begin() {
    auto headers =
        call_.headers(form_ == Form::lines ? "application/x-ndjson" : "text/event-stream");
    headers.add("Cache-Control", "no-store");
    CO_TRY_OK(co_await call_.begin(std::move(headers)));
    if (form_ == Form::server_sent) CO_TRY_OK(co_await call_.exchange().write("retry: 1000\n\n"));
    co_return Result<>();
  }

  void add(const std::string& id, std::string_view type, std::string_view json) {
    if (form_ == Form::lines) {
      pending_.append(json).append("\n");
      return;
    }
    pending_.append("id: ").append(id).append("\nevent: ").append(type);
    pending_.append("\ndata: ").append(json).append("\n\n");
  }

  void add_heartbeat() { pending_ += form_ == Form::lines ? "\n" : ":\n\n"; }

  Task<> flush() {
    if (pending_.empty()) co_return Result<>();
    const std::string bytes = std::exchange(pending_, {});
    co_return co_await call_.exchange().write(bytes);
  }

 private:
  Call& call_;
  Form form_;
  std::string pending_;
};

Task<> stream(Call& call, Form form, Start start, Wish wish) {
  EventLog& log = call.engine().events();
  Stream out(call, form);
  CO_TRY_OK(co_await out.begin());
  const auto is_gone = std::make_shared<bool>(false);
  call.exchange().on_closed([is_gone, &log] {
    *is_gone = true;
    log.wake();
  });
  if (start.is_new_epoch) {
    out.add(id_of(log, 0), "reset", reset_of(log, 0, "the daemon was started again"));
  }
  uint64_t at = start.after;
  for (;;) {
    const auto page = log.after(at, kAtATime);
    if (page.lost > 0) {
      at += page.lost;
      out.add(id_of(log, at), "reset",
              reset_of(log, at, std::to_string(page.lost) + " events are no longer kept"));
    }
    for (const auto& event : page.events) {
      at = event->number;
      if (!may_see(call.caller(), *event) || !wish.wants(*event)) continue;
      std::string json;
      append_event(json, log, *event);
      out.add(id_of(log, at), type_of(*event), json);
    }
    CO_TRY_OK(co_await out.flush());
    if (*is_gone) co_return Error(Code::cancelled, "the client went away");
    if (at < log.last()) continue;
    auto more = co_await log.wait_beyond(at, kHeartbeat);
    if (more) continue;
    if (more.error().code() != Code::deadline_exceeded) co_return std::move(more).error();
    out.add_heartbeat();
  }
}

Task<> page(Call& call, Start start, Wish wish, size_t limit) {
  const EventLog& log = call.engine().events();
  std::string json;
  ObjectWriter object(json);
  std::string& list = object.key("events");
  list += '[';
  uint64_t at = start.after;
  uint64_t lost = 0;
  for (size_t told = 0; told < limit;) {
    const auto some = log.after(at, kAtATime);
    lost += some.lost;
    at += some.lost;
    if (some.events.empty()) break;
    for (const auto& event : some.events) {
      if (told == limit) break;
      at = event->number;
      if (!may_see(call.caller(), *event) || !wish.wants(*event)) continue;
      if (list.back() != '[') list += ',';
      append_event(list, log, *event);
      ++told;
    }
  }
  list += ']';
  object.member("last", id_of(log, at));
  // Whoever asks for everything has missed nothing.
  const bool asked_for_a_point = start.after > 0 || start.is_new_epoch;
  object.member("reset", asked_for_a_point && (lost > 0 || start.is_new_epoch));
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace

Task<> read_events(Call& call) {
  const auto& request = call.request();
  const Form form = find_form(request);
  Wish wish;
  wish.sandbox = request.query.find("sandbox").value_or("");
  CO_TRY(wish.state, read_choice<State>(request.query, "state"));
  CO_TRY(const auto runs, read_flag(request.query, "runs"));
  wish.with_runs = runs.value_or(true);
  CO_TRY(const auto limit, read_number(request.query, "limit", kMostOnPage));
  CO_TRY(const auto start, find_start(call.engine().events(), request, form));
  if (form == Form::page)
    co_return co_await page(call, start, std::move(wish), limit.value_or(100));
  co_return co_await stream(call, form, start, std::move(wish));
}

}  // namespace atl::api::v1
