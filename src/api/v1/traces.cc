// /v1/traces: what the latest requests did, stage by stage.
#include <algorithm>
#include <tuple>
#include <vector>

#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/v1/handlers.h"
#include "json/path.h"
#include "json/write.h"

namespace atl::api::v1 {
namespace {

using telemetry::Span;
using telemetry::Trace;
using telemetry::TracePtr;

constexpr size_t kDefaultPage = 20;
constexpr size_t kLargestPage = 100;
// Of one trace id, which a client may use for as many requests as it likes.
constexpr size_t kMostRequests = 100;

// Everybody sees of requests what they see of sandboxes: admins all, members their tenant's, agents
// their own, and whoever holds a sandbox's token what was done with such a token.
telemetry::TraceFilter filter_for(Caller caller) {
  telemetry::TraceFilter filter;
  filter.sees = [caller = std::move(caller)](const Trace::Facts& facts) {
    return sees(caller, facts.tenant, facts.subject, facts.token_sandbox);
  };
  return filter;
}

double to_ms(int64_t micros) { return static_cast<double>(micros) / 1'000; }

std::string at_wall(int64_t unix_micros) {
  return to_rfc3339(WallTime(std::chrono::duration_cast<Millis>(Micros(unix_micros))));
}

// Of the request itself; null while it is under way.
const Span* root_of(const Trace& trace) {
  const auto found = std::ranges::find(trace.spans(), trace.facts().root, &Span::id);
  return found != trace.spans().end() ? &*found : nullptr;
}

int64_t start_of(const Trace& trace) {
  const auto first = std::ranges::min_element(trace.spans(), {}, &Span::begin);
  return trace.unix_micros(first->begin);
}

void append_attributes(std::string& out, const Span& span) {
  ObjectWriter object(out);
  for (const auto& [key, value] : span.attributes) {
    std::string& place = object.key(key);
    std::visit([&](const auto& held) { json::encode_to(place, held); }, value);
  }
  object.close();
}

void append_span(std::string& out, const Trace& trace, const Span& span, int64_t since) {
  ObjectWriter object(out);
  object.member("span_id", telemetry::to_hex(span.id));
  if (span.parent != 0) object.member("parent_span_id", telemetry::to_hex(span.parent));
  object.member("name", span.name);
  object.member("offset_ms", to_ms(trace.unix_micros(span.begin) - since));
  object.member("duration_ms", to_ms((span.end - span.begin).count()));
  if (!span.error.empty()) object.member("error", span.error);
  append_attributes(object.key("attributes"), span);
  object.close();
}

void append_summary(std::string& out, const Trace& trace) {
  ObjectWriter object(out);
  object.member("trace_id", telemetry::to_hex(trace.facts().context.trace));
  object.member("request_id", trace.facts().request_id);
  object.member("started_at", at_wall(start_of(trace)));
  if (const Span* root = root_of(trace)) {
    object.member("name", root->name);
    object.member("duration_ms", to_ms((root->end - root->begin).count()));
    if (!root->error.empty()) object.member("error", root->error);
  }
  object.member("sandboxes", trace.sandboxes());
  object.member("spans", trace.spans().size());
  object.close();
}

// All requests of one trace id as one tree, as far as their callers say how they belong together.
void append_whole(std::string& out, std::vector<TracePtr> requests) {
  std::ranges::sort(requests, {}, [](const TracePtr& trace) { return start_of(*trace); });
  const int64_t since = start_of(*requests.front());
  std::vector<std::string> ids, sandboxes;
  size_t dropped = 0;
  for (const TracePtr& trace : requests) {
    ids.push_back(trace->facts().request_id);
    dropped += trace->dropped_spans();
    for (const auto& sandbox : trace->sandboxes()) {
      if (std::ranges::find(sandboxes, sandbox) == sandboxes.end()) sandboxes.push_back(sandbox);
    }
  }
  ObjectWriter object(out);
  object.member("trace_id", telemetry::to_hex(requests.front()->facts().context.trace));
  object.member("started_at", at_wall(since));
  object.member("requests", ids);
  object.member("sandboxes", sandboxes);
  object.member("dropped_spans", dropped);
  object.key("spans") += '[';
  for (const TracePtr& trace : requests) {
    std::vector<const Span*> spans;
    for (const Span& span : trace->spans()) spans.push_back(&span);
    // What contains others comes before them.
    std::ranges::sort(
        spans, {}, [](const Span* span) { return std::tuple(span->begin, -span->end, span->id); });
    for (const Span* span : spans) {
      if (out.back() != '[') out += ',';
      append_span(out, *trace, *span, since);
    }
  }
  out += ']';
  object.close();
}

}  // namespace

Task<> list_traces(Call& call) {
  const auto& query = call.request().query;
  telemetry::TraceFilter filter = filter_for(call.caller());
  CO_TRY(const auto limit, read_number(query, "limit", kLargestPage));
  if (limit == 0u) {
    co_return Error(Code::invalid_argument, "limit: a page has at least 1").at_stage("request");
  }
  filter.limit = limit.value_or(kDefaultPage);
  filter.request_id = query.get("request");
  filter.sandbox = query.get("sandbox");
  // A name means the sandbox that has it now; one that has ended is known by its id.
  if (!filter.sandbox.empty()) {
    if (const auto view = call.engine().get(call.caller(), filter.sandbox)) {
      filter.sandbox = view->id;
    }
  }
  std::string json;
  ObjectWriter object(json);
  object.key("traces") += '[';
  for (const TracePtr& trace : call.tracer().find(filter)) {
    if (json.back() != '[') json += ',';
    append_summary(json, *trace);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> get_trace(Call& call) {
  const std::string& id = call.request().segments[2];
  telemetry::TraceFilter filter = filter_for(call.caller());
  filter.limit = kMostRequests;
  filter.trace = telemetry::find_trace_id(id);
  if (!filter.trace) {
    co_return Error(Code::invalid_argument, json::quote(id) + " is no trace id")
        .with_hint(
            "it has 32 hexadecimal digits; GET /v1/traces?sandbox=ID and ?request=ID find it")
        .at_stage("request");
  }
  auto found = call.tracer().find(filter);
  if (found.empty()) {
    co_return Error(Code::not_found, "nothing is known of trace " + id)
        .with_hint("the daemon keeps the latest requests only, and only those that it was sent");
  }
  std::string json;
  append_whole(json, std::move(found));
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace atl::api::v1
