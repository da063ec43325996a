// Where spans are sent: an OTLP collector over HTTP or HTTPS.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "telemetry/span_exporter.h"

namespace atl::app {

struct OtlpTarget {
  std::string url;      // of the collector; /v1/traces is added unless it ends so. "" = none
  std::string headers;  // "name=value,name=value", percent-encoded, as OTEL_EXPORTER_OTLP_HEADERS
                        // has them; may hold a secret
};

// Code::invalid_argument for what is no URL, and for headers that are none; no URL at all is fine.
Result<> check_otlp_target(const OtlpTarget& target);
// The same errors.
Result<std::unique_ptr<telemetry::OtlpTransport>> make_otlp_transport(
    const asio::any_io_executor& executor, const OtlpTarget& target);

}  // namespace atl::app
