// Spans as OTLP writes them in JSON: the body of POST /v1/traces of a collector.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "telemetry/trace.h"

namespace atl::telemetry {

// A span that has ended: trace->spans()[index].
struct EndedSpan {
  TracePtr trace;
  size_t index = 0;
};

// Who tells: the resource of every span.
struct OtlpResource {
  std::string service_name = "atoll";
  std::string service_version;
  std::string instance_id;
};

std::string to_otlp(const OtlpResource& resource, std::span<const EndedSpan> spans);

}  // namespace atl::telemetry
