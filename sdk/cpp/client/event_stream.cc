#include "client/event_stream.h"

#include "client/answer.h"
#include "client/line_reader.h"
#include "net/event.h"

namespace atl::client {
namespace {

using Clock = std::chrono::steady_clock;

// The daemon shows every 15 seconds that it lives.
constexpr std::chrono::seconds kLongestSilence{45};
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{2'000};

bool is_broken(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::deadline_exceeded;
}

// Where "from now on" is, so that a connection which breaks before its first event misses nothing.
// No sandbox has that name, so the page is empty and ends at the latest.
Task<std::string> latest_event(Connection& connection) {
  CO_TRY(const std::string text, co_await connection.get("/v1/events?limit=1&sandbox=."));
  CO_TRY(const auto page, parse_answer(text));
  co_return text_at(page, "last");
}

// What one connection told.
struct Told {
  bool anything = false;
  bool ended = false;  // by whoever listens
  std::optional<Error> refused;
};

}  // namespace

Task<> follow_events(Connection& connection, EventQuery query,
                     std::function<Result<Follow>(const json::Value& event)> on_event) {
  Told told;
  const auto on_line = [&](std::string_view line) -> Result<> {
    told.anything = true;
    if (line.empty()) return {};  // a sign of life
    TRY(const auto event, parse_answer(line));
    auto next = on_event(event);
    if (!next) told.refused = next.error();
    if (const std::string id = text_at(event, "id"); !id.empty()) query.after = id;
    told.ended = !next || *next == Follow::end;
    return told.ended ? Result<>(Error(Code::cancelled, "nobody listens any more")) : Result<>();
  };
  CO_TRY(const std::string now_at, co_await latest_event(connection));
  if (query.after.empty()) query.after = now_at;
  net::Event never(connection.executor());
  auto pause = kFirstPause;
  std::optional<Clock::time_point> gone_since;
  for (;;) {
    auto request =
        connection.make_request(net::Method::get, "/v1/events?" + query.filter +
                                                      "&after=" + net::percent_encode(query.after));
    request.headers.add("Accept", "application/x-ndjson");
    request.timeouts.silence = kLongestSilence;
    told.anything = false;
    auto read = co_await read_lines(connection, std::move(request), on_line);
    if (told.refused) co_return *std::move(told.refused);
    if (told.ended) co_return Result<>();
    if (!read && !is_broken(read.error())) co_return read;
    if (told.anything) {
      gone_since.reset();
      pause = kFirstPause;
    }
    const auto now = Clock::now();
    if (!gone_since) gone_since = now;
    if (now - *gone_since >= query.away) {
      co_return Error(Code::unavailable, "the daemon stays away: events are no longer told")
          .with_hint("was it stopped? go on later, behind the last event that you have");
    }
    co_await never.wait_until(now + pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace atl::client
