#include "telemetry/otlp.h"

#include "json/write.h"

namespace atl::telemetry {
namespace {

enum class Kind : uint8_t { internal = 1, server = 2 };
constexpr std::string_view kFailed = R"(,"status":{"code":2,"message":)";

void write_key(std::string& out, std::string_view key) {
  if (out.back() != '[') out += ',';
  out += R"({"key":")";
  out += key;  // a constant of ours: nothing to escape
  out += R"(","value":{)";
}

void write_text(std::string& out, std::string_view key, std::string_view text) {
  write_key(out, key);
  out += R"("stringValue":)";
  json::write_string(out, text);
  out += "}}";
}

// Numbers of 64 bits are strings in the JSON form of protocol buffers.
void write_quoted(std::string& out, int64_t number) {
  out += '"';
  json::write_integer(out, number);
  out += '"';
}

void write_attribute(std::string& out, const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    write_text(out, attribute.key, *text);
    return;
  }
  write_key(out, attribute.key);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    out += R"("intValue":)";
    write_quoted(out, *number);
  } else if (const auto* fraction = std::get_if<double>(&attribute.value)) {
    out += R"("doubleValue":)";
    json::write_double(out, *fraction);
  } else {
    out += R"("boolValue":)";
    out += std::get<bool>(attribute.value) ? "true" : "false";
  }
  out += "}}";
}

void write_span(std::string& out, const Trace& trace, const Span& span) {
  const bool is_root = span.id == trace.facts().root;
  out += R"({"traceId":")";
  out += to_hex(trace.facts().context.trace);
  out += R"(","spanId":")";
  out += to_hex(span.id);
  if (span.parent != 0) {
    out += R"(","parentSpanId":")";
    out += to_hex(span.parent);
  }
  out += R"(","name":)";
  json::write_string(out, span.name);
  out += R"(,"kind":)";
  json::write_integer(out, static_cast<int64_t>(is_root ? Kind::server : Kind::internal));
  out += R"(,"startTimeUnixNano":)";
  write_quoted(out, trace.unix_micros(span.begin) * 1'000);
  out += R"(,"endTimeUnixNano":)";
  write_quoted(out, trace.unix_micros(span.end) * 1'000);
  out += R"(,"attributes":[)";
  for (const Attribute& attribute : span.attributes) write_attribute(out, attribute);
  out += ']';
  if (!span.error.empty()) {
    out += kFailed;
    json::write_string(out, span.error);
    out += '}';
  }
  out += '}';
}

}  // namespace

std::string to_otlp(const OtlpResource& resource, std::span<const EndedSpan> spans) {
  std::string out;
  out.reserve(512 + 512 * spans.size());
  out += R"({"resourceSpans":[{"resource":{"attributes":[)";
  write_text(out, "service.name", resource.service_name);
  write_text(out, "service.version", resource.service_version);
  write_text(out, "service.instance.id", resource.instance_id);
  out += R"(]},"scopeSpans":[{"scope":{"name":"atoll"},"spans":[)";
  for (const EndedSpan& ended : spans) {
    if (out.back() != '[') out += ',';
    write_span(out, *ended.trace, ended.trace->spans()[ended.index]);
  }
  out += "]}]}]}";
  return out;
}

}  // namespace atl::telemetry
