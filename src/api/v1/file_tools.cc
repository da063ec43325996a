// Searching and watching the files of a sandbox: GET …/files/find, /grep and /watch.
#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/v1/file_wire.h"
#include "api/v1/handlers.h"
#include "api/v1/output_sink.h"

namespace atl::api::v1 {
namespace {

constexpr uint64_t kMostTold = 10'000;
constexpr uint64_t kLongestMs = 600'000;
constexpr size_t kLongestPattern = 4096;
// An answer that comes whole is held in memory.
constexpr size_t kMostAnswer = size_t{16} << 20;
constexpr std::string_view kNdjson = "application/x-ndjson";
constexpr std::string_view kEvents = "text/event-stream";

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

// What goes to the tool as one of its arguments.
Result<std::string> read_text(const net::Query& query, std::string_view name) {
  std::string text(query.find(name).value_or(""));
  if (text.size() > kLongestPattern || text.find('\0') != std::string::npos)
    return invalid(name, "at most 4,096 bytes, and no NUL");
  return text;
}

// What find and grep have in common.
template <typename Request>
Result<> read_common(const net::Query& query, Request& request) {
  TRY(auto path, read_path(query));
  request.path = std::move(path).value_or(".");
  TRY(const auto limit, read_number(query, "limit", kMostTold));
  request.limit = limit.value_or(request.limit);
  TRY(const auto timeout, read_number(query, "timeout_ms", kLongestMs));
  if (timeout) request.timeout = Millis(std::max<uint64_t>(*timeout, 1));
  return {};
}

void append_event(std::string& json, const ToolEvent& event) {
  if (const auto* info = std::get_if<FileInfo>(&event)) return append_info(json, *info);
  const auto& match = std::get<LineMatch>(event);
  ObjectWriter object(json);
  object.bytes("path", match.path);
  object.member("line", match.line);
  object.bytes("text", match.text);
  if (match.cut) object.member("cut", true);
  object.close();
}

Task<> answer_search(Call& call, ToolRequest request, std::string path, std::string name) {
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(auto started, co_await lease->start_tool(std::move(request)));
  const std::shared_ptr<FileTool> tool = std::move(started);
  call.exchange().on_closed([tool] { tool->interrupt(); });
  std::string json;
  ObjectWriter object(json);
  object.bytes("path", path);
  object.key(name) += '[';
  ToolEnd end;
  for (;;) {
    CO_TRY(const auto event, co_await tool->next());
    if (const auto* last = std::get_if<ToolEnd>(&event)) {
      end.more |= last->more;
      end.seen = last->seen;
      end.skipped = last->skipped;
      break;
    }
    if (!std::holds_alternative<FileInfo>(event) && !std::holds_alternative<LineMatch>(event))
      co_return Error(Code::unavailable, "a tool in the sandbox answers nonsense");
    if (json.size() > kMostAnswer || ++end.told > kMostTold) {
      end.more = true;
      break;
    }
    if (json.back() != '[') json += ',';
    append_event(json, event);
  }
  json += ']';
  object.member("truncated", end.more);
  object.member("seen", end.seen);
  object.member("skipped", end.skipped);
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

// A line of JSON each, or an event as browsers read them.
class EventStream final {
 public:
  explicit EventStream(Call& call)
      : call_(call), sse_(accepts(call.request().headers.get("Accept"), kEvents)) {}

  Task<> begin() {
    auto headers = call_.headers(sse_ ? kEvents : kNdjson);
    headers.add("Cache-Control", "no-store");
    co_return co_await call_.begin(std::move(headers));
  }

  Task<> tell(std::string type, std::string rest) {
    std::string line = sse_ ? "event: " + type + "\ndata: " : "";
    line += "{\"type\":\"" + type + "\"" + rest + "}\n";
    if (sse_) line += '\n';
    co_return co_await call_.exchange().write(line);
  }

 private:
  Call& call_;
  bool sse_;
};

std::string members_of(const FileEvent& event) {
  std::string json;
  ObjectWriter object(json);
  object.member("kind", event.kind);
  object.bytes("path", event.path);
  if (event.event == FileEventKind::moved) object.bytes("from", event.from);
  json[0] = ',';  // they go on in an object that has begun
  return json;
}

Task<> tell_events(FileTool& tool, EventStream& stream) {
  for (;;) {
    CO_TRY(const auto event, co_await tool.next());
    if (std::holds_alternative<ToolEnd>(event)) co_return co_await stream.tell("end", "");
    const auto* change = std::get_if<FileEvent>(&event);
    if (change == nullptr) co_return Error(Code::unavailable, "a tool answers nonsense");
    std::string type(json::name_of(change->event));
    CO_TRY_OK(co_await stream.tell(std::move(type), members_of(*change)));
  }
}

}  // namespace

Task<> find_files(Call& call) {
  const auto& query = call.request().query;
  FindRequest request;
  CO_TRY_OK(read_common(query, request));
  CO_TRY(request.name, read_text(query, "name"));
  CO_TRY(request.kind, read_choice<FileKind>(query, "kind"));
  CO_TRY(request.depth, read_number(query, "depth", 255));
  std::string path = request.path;
  co_return co_await answer_search(call, std::move(request), std::move(path), "entries");
}

Task<> grep_files(Call& call) {
  const auto& query = call.request().query;
  GrepRequest request;
  CO_TRY_OK(read_common(query, request));
  CO_TRY(request.pattern, read_text(query, "pattern"));
  if (request.pattern.empty()) co_return invalid("pattern", "missing");
  if (request.pattern.find('\n') != std::string::npos)
    co_return invalid("pattern", "lines are looked at one by one, so it has no newline");
  CO_TRY(request.include, read_text(query, "include"));
  CO_TRY(const auto fixed, read_flag(query, "fixed"));
  request.fixed = fixed.value_or(false);
  CO_TRY(const auto ignore_case, read_flag(query, "ignore_case"));
  request.ignore_case = ignore_case.value_or(false);
  std::string path = request.path;
  co_return co_await answer_search(call, std::move(request), std::move(path), "matches");
}

Task<> watch_files(Call& call) {
  const auto& query = call.request().query;
  WatchRequest request;
  CO_TRY(auto path, read_path(query));
  request.path = std::move(path).value_or(".");
  CO_TRY(const auto recursive, read_flag(query, "recursive"));
  request.recursive = recursive.value_or(false);
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(auto started, co_await lease->start_tool(std::move(request)));
  const std::shared_ptr<FileTool> tool = std::move(started);
  call.exchange().on_closed([tool] { tool->interrupt(); });

  // Places that are too many to watch may be told before everything else is.
  std::vector<FileEvent> early;
  for (;;) {
    CO_TRY(auto event, co_await tool->next());
    if (std::holds_alternative<ToolReady>(event)) break;
    auto* change = std::get_if<FileEvent>(&event);
    if (change == nullptr || early.size() >= kMostTold)
      co_return Error(Code::unavailable, "a tool in the sandbox answers nonsense");
    early.push_back(std::move(*change));
  }
  EventStream stream(call);
  CO_TRY_OK(co_await stream.begin());
  CO_TRY_OK(co_await stream.tell("ready", ""));
  for (const auto& change : early) {
    std::string type(json::name_of(change.event));
    CO_TRY_OK(co_await stream.tell(std::move(type), members_of(change)));
  }
  auto told = co_await tell_events(*tool, stream);
  if (!told) {
    if (told.error().code() == Code::cancelled) co_return std::move(told).error();
    std::string problem = ",\"problem\":";
    append_problem(problem, Problem(std::move(told).error()), call.ids());
    CO_TRY_OK(co_await stream.tell("error", std::move(problem)));
  }
  co_return co_await call.exchange().end();
}

}  // namespace atl::api::v1
