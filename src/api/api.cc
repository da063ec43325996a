#include "api/api.h"

#include <cmath>

#include <boost/system/system_error.hpp>

#include "api/cors.h"
#include "api/parameters.h"
#include "crypto/api_key.h"
#include "json/path.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl::api {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kNoRoute = "none";

// Reading is what monitors do all day; what changes something, and what fails, is worth a line.
telemetry::Level level_of(const net::Request& request, int status) {
  if (status >= 500) return telemetry::Level::warn;
  const bool reads = request.method == net::Method::get || request.method == net::Method::head;
  return reads && status < 400 ? telemetry::Level::debug : telemetry::Level::info;
}

std::string_view who(const Visitor& visitor) {
  return visitor.caller.subject.empty() ? std::string_view("nobody") : visitor.caller.subject;
}

void tell(const Call& call, std::string_view route, SteadyClock::duration took,
          const Result<>& done) {
  const auto level = level_of(call.request(), call.status());
  if (!telemetry::is_logged(level)) return;
  const double ms = std::chrono::duration<double, std::milli>(took).count();
  const auto& request = call.request();
  const std::string path = crypto::hide_keys(request.path);
  const auto& ids = call.ids();
  if (done) {
    telemetry::log(level, "request",
                   {{"method", request.method_name},
                    {"path", path},
                    {"route", route},
                    {"status", call.status()},
                    {"ms", ms},
                    {"who", who(call.visitor())},
                    {"request_id", ids.request_id},
                    {"trace_id", ids.trace_id}});
  } else {
    telemetry::log(level, "request failed",
                   {{"method", request.method_name},
                    {"path", path},
                    {"route", route},
                    {"status", call.status()},
                    {"ms", ms},
                    {"who", who(call.visitor())},
                    {"code", to_string(done.error().code())},
                    {"why", crypto::hide_keys(done.error().message())},
                    {"request_id", ids.request_id},
                    {"trace_id", ids.trace_id}});
  }
}

bool is_traced(const Route& route, const RequestIds& ids) {
  if (route.action == Action::open) return false;
  return route.traced == Traced::always || (ids.caller_span != 0 && ids.context.sampled);
}

Error unknown_path(const Router& router, const net::Request& request) {
  Error error(Code::not_found, "no such path: " + json::quote(request.path));
  const std::string near = router.suggest(request);
  return std::move(error)
      .with_hint(near.empty() ? "docs/api.md lists them" : "did you mean " + near + "?")
      .at_stage("route");
}

}  // namespace

Api::Api(Engine& engine, Keys& keys, telemetry::Metrics& metrics, telemetry::Tracer& tracer,
         const Clock& clock, ApiOptions options)
    : options_(std::move(options)),
      tokens_(engine, keys, clock, options_.token_secret),
      services_{engine, keys, tokens_, metrics, tracer, options_},
      requests_(clock, options_.requests),
      failed_logins_(clock, options_.failed_logins),
      router_(all_routes()) {}

// A valid key is always taken, so nobody is locked out by others who come from the same address.
Result<Visitor> Api::recognise(Call& call) {
  auto visitor = find_visitor(call.request(), services_.keys, tokens_, options_.visitors);
  if (visitor) return visitor;
  const auto wait = failed_logins_.take(origin_of(call.request().peer));
  if (!wait) return visitor;
  call.set_retry_after(std::chrono::ceil<std::chrono::seconds>(*wait));
  return Error(Code::resource_exhausted, "too many requests without a valid key came from here")
      .with_hint("wait as long as Retry-After says, then send a valid key")
      .at_stage("authenticate");
}

Result<> Api::check_rate(Call& call, const Caller& caller) {
  if (caller.role == Role::admin && caller.sandbox.empty()) return {};
  const auto wait = requests_.take(caller.subject);
  if (!wait) return {};
  call.set_retry_after(std::chrono::ceil<std::chrono::seconds>(*wait));
  return Error(Code::resource_exhausted,
               "too many requests; " + caller.subject + " may send " +
                   std::to_string(std::lround(requests_.rate().per_second)) + " in a second")
      .with_hint("wait a moment, as long as Retry-After says, and try again")
      .at_stage("authorize");
}

Result<> Api::admit(Call& call, const Route& route) {
  if (route.action != Action::open) {
    TRY(auto visitor, recognise(call));
    call.set_visitor(std::move(visitor));
    TRY_OK(check_rate(call, call.caller()));
    TRY_OK(check_action(call.visitor(), route.action));
  }
  return check_parameters(call.request().query, route.parameters);
}

Task<> Api::serve(Call& call, const Route* route, std::string allow, Micros began) {
  if (route != nullptr) {
    CO_TRY_OK(admit(call, *route));
    // Whoever has no key leaves no trace, or strangers could fill what is kept.
    if (is_traced(*route, call.ids())) {
      call.begin_trace(route->pattern, began);
      call.trace().add("authorise", began, services_.tracer.now());
    }
    co_return co_await route->serve(call);
  }
  // Which paths exist is no secret, so a mistyped one is told even to those without a key.
  if (allow.empty()) co_return unknown_path(router_, call.request());
  if (is_preflight(call.request(), options_.origins)) {
    co_return co_await call.answer_with(make_preflight_response(allow));
  }
  Error error(Code::invalid_argument,
              call.request().path + " does not take " + call.request().method_name);
  auto response = make_problem_response(
      Problem(405, "method_not_allowed",
              std::move(error).with_hint("it takes " + allow).at_stage("route")),
      call.ids());
  response.headers.add("Allow", allow);
  co_return co_await call.answer_with(std::move(response));
}

asio::awaitable<void> Api::handle(net::Exchange& exchange) {
  const auto began = SteadyClock::now();
  const Micros began_on_boot = services_.tracer.now();
  RequestIds ids = ids_.make(exchange.request().headers);
  auto found = router_.find(exchange.request());
  if (found.route == nullptr || !is_traced(*found.route, ids)) ids.context.sampled = false;
  Call call(services_, exchange, std::move(ids));
  const std::string_view route = found.route != nullptr ? found.route->pattern : kNoRoute;

  Result<> done;
  try {
    done = co_await serve(call, found.route, std::move(found.allow), began_on_boot);
  } catch (const std::exception& thrown) {
    done = Error(Code::internal, thrown.what());
  }
  if (!done && !exchange.started()) {
    Error error = done.error();
    // What can never succeed as written failed before anything was done about it.
    if (error.code() == Code::invalid_argument) error = std::move(error).at_stage("request");
    if (error.code() == Code::too_large && error.stage() == "request") {
      error = std::move(error).with_hint("GET /v1/limits tells how much a request may have");
    }
    const auto told = co_await call.answer_problem(Problem(std::move(error)));
    static_cast<void>(told);  // the client went away: there is nobody left to tell
  }
  call.end_trace(done);
  // A started answer that failed ends short, and the server closes the connection: the client sees
  // that it is cut off.

  const auto took = SteadyClock::now() - began;
  const std::string status = std::to_string(call.status());
  const std::string_view method = net::to_string(call.request().method);
  services_.metrics.http_requests.at(method.empty() ? "other" : method, route, status).add();
  services_.metrics.http_request_duration.at(route).observe(took);
  tell(call, route, took, done);
}

}  // namespace atl::api
