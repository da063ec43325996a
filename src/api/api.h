// The HTTP API: authenticates, routes and answers every request, and tells its story in one log
// line.
//
//   Api api(engine, keys, metrics, {.version = ATOLL_VERSION, .trusted_uid = geteuid()});
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
  // All three outlive the API.
  Api(Engine& engine, Keys& keys, telemetry::Metrics& metrics, ApiOptions options);

  asio::awaitable<void> handle(net::Exchange& exchange) override;

 private:
  Task<> serve(Call& call, const Route* route, std::string allow);
  Result<> admit(Call& call, const Route& route);

  ApiOptions options_;
  Services services_;
  Keys& keys_;
  Router router_;
  RequestIdMaker ids_;
};

}  // namespace atl::api
