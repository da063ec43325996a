// The HTTP API: authenticates, routes and answers every request, and tells its story in one log
// line.
//
//   Api api(engine, keys, metrics, tracer, clock, {.version = ATOLL_VERSION});
//   net::HttpServer server(executor, api);
//
// Every answer, error and log line carries the request's id (X-Request-Id) and trace (X-Trace-Id).
// Lives on the core loop. What is answered is described in docs/api.md and docs/openapi.yaml.
#pragma once

#include "api/call.h"
#include "api/route.h"

namespace atl::api {

class Api final : public net::Handler {
 public:
  // All but the options outlive the API.
  Api(Engine& engine, Keys& keys, telemetry::Metrics& metrics, telemetry::Tracer& tracer,
      const Clock& clock, ApiOptions options);

  asio::awaitable<void> handle(net::Exchange& exchange) override;

 private:
  Task<> serve(Call& call, const Route* route, std::string allow, Micros began);
  Result<> admit(Call& call, const Route& route);
  Result<Visitor> recognise(Call& call);
  Result<> check_rate(Call& call, const Caller& caller);

  ApiOptions options_;
  SandboxTokens tokens_;
  Services services_;
  RateLimiter requests_;
  RateLimiter failed_logins_;
  Router router_;
  RequestIdMaker ids_;
};

}  // namespace atl::api
