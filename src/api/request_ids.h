// What every answer, error and log line of one request carries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "net/http_message.h"
#include "telemetry/trace_context.h"

namespace atl::api {

struct RequestIds {
  std::string request_id;
  std::string trace_id;               // 32 hex digits
  telemetry::TraceContext context;    // of this request: what the answer's traceparent says
  telemetry::SpanId caller_span = 0;  // 0 = the request came without a sane traceparent
};

// What every answer tells of them.
void add_ids(net::Headers& headers, const RequestIds& ids);

// Takes random bytes from the kernel a page at a time: a request needs some, and a system call for
// each would be a fifth of what the cheapest request costs. These ids are unique, and no secrets.
class RequestIdMaker final {
 public:
  // The client's X-Request-Id and the trace of its traceparent where they are sane, new ones
  // otherwise; the span is always new.
  RequestIds make(const net::Headers& headers);

 private:
  std::span<const uint8_t> take(size_t count);

  std::array<uint8_t, 4096> pool_;
  size_t used_ = pool_.size();
};

}  // namespace atl::api
