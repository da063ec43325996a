// Call: one request under way, with who asks, and the ways to answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/problem.h"
#include "api/visitor.h"
#include "core/engine.h"
#include "core/operation.h"
#include "core/rate_limiter.h"
#include "net/http_server.h"
#include "net/websocket.h"
#include "telemetry/tracer.h"

namespace atl {
class Templates;
}
namespace atl::telemetry {
class Metrics;
}

namespace atl::api {

struct ApiOptions {
  std::string version;
  VisitorRules visitors;
  // What sandboxes' tokens are signed with; "" = there are none.
  std::string token_secret;
  // Requests of each key that is not an administrator's, and of each user at the socket.
  Rate requests;
  // Keys that are not valid, from each address.
  Rate failed_logins{.per_second = 1, .burst = 20};
  // Web pages of these origins may call from a browser ("https://console.example"); empty = CORS is
  // off, and no answer has a header about it.
  std::vector<std::string> origins;
  // What GET /readyz tells; empty is always ready.
  std::function<Result<>()> readiness;
  // What POST /v1/shutdown calls once it has answered; empty refuses it.
  std::function<void(Ending)> on_shutdown;
  // How many clients are connected now, for GET /metrics; empty is not told.
  std::function<size_t()> connections;
  // How many spans wait for the collector, for GET /metrics; empty when there is none.
  std::function<size_t()> spans_to_export;
  uint64_t most_upload_bytes = uint64_t{64} << 30;
  Templates* templates = nullptr;  // null: there are none
};

// What handlers work with; wiring owns it all.
struct Services {
  Engine& engine;
  Keys& keys;
  const SandboxTokens& tokens;
  telemetry::Metrics& metrics;
  telemetry::Tracer& tracer;
  const ApiOptions& options;
};

inline constexpr size_t kMostJson = size_t{1} << 20;
inline constexpr size_t kMostExecJson = size_t{8} << 20;  // stdin may be inside

class Call final {
 public:
  Call(const Services& services, net::Exchange& exchange, RequestIds ids);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Engine& engine() const { return services_.engine; }
  Keys& keys() const { return services_.keys; }
  const SandboxTokens& tokens() const { return services_.tokens; }
  telemetry::Metrics& metrics() const { return services_.metrics; }
  telemetry::Tracer& tracer() const { return services_.tracer; }
  const ApiOptions& options() const { return services_.options; }
  Templates* templates() const { return services_.options.templates; }
  net::Exchange& exchange() const { return exchange_; }
  const net::Request& request() const { return exchange_.request(); }
  const RequestIds& ids() const { return ids_; }

  const Visitor& visitor() const { return visitor_; }
  void set_visitor(Visitor visitor) { visitor_ = std::move(visitor); }
  const Caller& caller() const { return visitor_.caller; }

  // The {id} of /v1/sandboxes/{id}/…: an id or a name.
  std::string sandbox() const { return request().segments[2]; }
  // The {process} of /v1/sandboxes/{id}/processes/{process}/….
  Result<ProcessId> process() const;

  // Once it is known who asks: from here on the caller carries the trace into the engine. `began`
  // is on Clock::boot().
  void begin_trace(std::string_view route, Micros began);
  void end_trace(const Result<>& done);
  const telemetry::SpanScope& trace() const { return visitor_.caller.trace; }
  // What this call does in the sandbox of its path; it lasts until the call is over. `name` is a
  // constant.
  void begin_operation(const GuestLease& lease, std::string_view name);

  Task<std::string> read_text(size_t limit);

  // With the ids of this request in it, for answers that are made by hand.
  net::Headers headers(std::string_view content_type) const;
  Task<> answer(int status, std::string json);
  Task<> answer_with(net::Response response);
  Task<> answer_nothing();  // 204
  Task<> answer_problem(Problem problem);
  Task<> begin(net::Headers headers);
  Task<> begin_sized(int status, net::Headers headers, uint64_t length);
  // Leaves HTTP: from then on nothing else is answered.
  Task<net::Released> upgrade(std::string protocol);
  Task<std::unique_ptr<net::WebSocket>> accept_websocket(std::string protocol);

  // What Retry-After says if this call is answered with a problem for which trying again helps.
  void set_retry_after(std::chrono::seconds seconds) { retry_after_ = seconds; }

  // What was answered, for the log; 0 while nothing was.
  int status() const { return status_; }

 private:
  void add_origin(net::Headers& headers) const;

  const Services& services_;
  net::Exchange& exchange_;
  RequestIds ids_;
  Visitor visitor_;
  std::chrono::seconds retry_after_{1};
  int status_ = 0;
  telemetry::OpenSpan span_;  // of the call itself
  std::optional<Operation> operation_;
};

}  // namespace atl::api
