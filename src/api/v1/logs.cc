// GET /v1/sandboxes/{id}/logs: what a process has said, as plain text, from what is kept of it.
#include "api/parameters.h"
#include "api/v1/handlers.h"
#include "api/v1/process_choice.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kMostTail = size_t{16} << 20;
constexpr uint64_t kMostLines = 1'000'000;

enum class WireStream : uint8_t { stdout_, stderr_, all };
BOOST_DESCRIBE_ENUM(WireStream, stdout_, stderr_, all)

bool shows(WireStream wanted, Stream stream) {
  return wanted == WireStream::all ||
         wanted == (stream == Stream::out ? WireStream::stdout_ : WireStream::stderr_);
}

struct LogRequest {
  std::shared_ptr<Process> process;
  WireStream wanted = WireStream::all;
  std::optional<uint64_t> tail;  // lines; nullopt = all that is kept
  bool follow = false;
  // What was kept at the time of asking.
  uint64_t out_first = 0, out_end = 0;
  uint64_t err_first = 0, err_end = 0;
};

// The last `count` lines; a last line need not be ended.
std::string_view last_lines(std::string_view text, uint64_t count) {
  if (count == 0) return {};
  size_t at = text.size();
  if (text.ends_with('\n')) --at;
  while (at > 0) {
    const size_t newline = text.rfind('\n', at - 1);
    if (newline == std::string_view::npos) return text;
    if (--count == 0) return text.substr(newline + 1);
    at = newline;
  }
  return text;
}

void keep_tail(std::string& kept, std::string_view bytes) {
  kept += bytes;
  if (kept.size() > 2 * kMostTail) kept.erase(0, kept.size() - kMostTail);
}

// Reads on until what was there at the time of asking has been told, or with `follow` until the
// process ends.
Task<> tell(Call& call, LogRequest asked) {
  uint64_t out_at = asked.out_first;
  uint64_t err_at = asked.err_first;
  std::string kept;
  bool in_past = true;
  for (;;) {
    if (in_past && out_at >= asked.out_end && err_at >= asked.err_end) {
      in_past = false;
      if (asked.tail) {
        CO_TRY_OK(co_await call.exchange().write(last_lines(kept, *asked.tail)));
      }
      if (!asked.follow) break;
    }
    CO_TRY(const auto event, co_await asked.process->next());
    if (std::holds_alternative<ExitStatus>(event)) break;
    if (const auto* gap = std::get_if<OutputGap>(&event)) {
      (gap->stream == Stream::out ? out_at : err_at) = gap->to;
      continue;
    }
    const auto& output = std::get<Output>(event);
    (output.stream == Stream::out ? out_at : err_at) = output.offset + output.bytes.size();
    if (!shows(asked.wanted, output.stream)) continue;
    if (in_past && asked.tail) {
      keep_tail(kept, output.bytes);
    } else {
      CO_TRY_OK(co_await call.exchange().write(output.bytes));
    }
  }
  // The process ended before all of its past had come.
  if (in_past && asked.tail) {
    CO_TRY_OK(co_await call.exchange().write(last_lines(kept, *asked.tail)));
  }
  co_return co_await call.exchange().end();
}

}  // namespace

Task<> read_logs(Call& call) {
  const auto& query = call.request().query;
  CO_TRY(const auto id, read_number(query, "process", UINT64_MAX));
  CO_TRY(const auto wanted, read_choice<WireStream>(query, "stream"));
  CO_TRY(const auto tail, read_number(query, "tail", kMostLines));
  CO_TRY(const auto follows, read_flag(query, "follow"));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(const auto info, co_await get_process(*lease, id));

  LogRequest asked;
  asked.wanted = wanted.value_or(WireStream::all);
  asked.tail = tail;
  asked.follow = follows.value_or(false);
  asked.out_end = info.stdout_end;
  asked.err_end = info.stderr_end;
  // Of a stream that is not wanted nothing has to come.
  asked.out_first = shows(asked.wanted, Stream::out) ? info.stdout_first : info.stdout_end;
  asked.err_first = shows(asked.wanted, Stream::err) ? info.stderr_first : info.stderr_end;
  CO_TRY(asked.process, co_await lease->attach(info.id, {asked.out_first, asked.err_first}));

  call.exchange().on_closed([process = asked.process] { process->interrupt(); });
  auto headers = call.headers("text/plain; charset=utf-8");
  headers.add("X-Atoll-Process", std::to_string(info.id));
  CO_TRY_OK(co_await call.begin(std::move(headers)));
  co_return co_await tell(call, std::move(asked));
}

}  // namespace atl::api::v1
