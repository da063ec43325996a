#include "api/call.h"

#include <charconv>

#include "api/cors.h"

namespace atl::api {

Call::Call(const Services& services, net::Exchange& exchange, RequestIds ids)
    : services_(services), exchange_(exchange), ids_(std::move(ids)) {}

Result<ProcessId> Call::process() const {
  const std::string& text = request().segments[4];
  ProcessId id = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (problem == std::errc() && end == text.data() + text.size()) return id;
  return Error(Code::invalid_argument, "the process is a number, as exec and processes tell it")
      .with_hint("GET /v1/sandboxes/{id}/processes lists them");
}

void Call::begin_trace(std::string_view route, Micros began) {
  const auto& context = ids_.context;
  std::string name(net::to_string(request().method));
  name.append(" ").append(route);
  span_ = services_.tracer.begin({.context = {context.trace, ids_.caller_span, context.sampled},
                                  .root = context.span,
                                  .was_asked = ids_.caller_span != 0,
                                  .request_id = ids_.request_id,
                                  .tenant = caller().tenant,
                                  .subject = caller().subject,
                                  .token_sandbox = caller().sandbox},
                                 name, began);
  span_.set("http.request.method", net::to_string(request().method));
  span_.set("http.route", route);
  span_.set("atoll.request.id", ids_.request_id);
  visitor_.caller.trace = span_.scope();
}

void Call::end_trace(const Result<>& done) {
  if (operation_) operation_->end(done);
  span_.set("http.response.status_code", int64_t{status_});
  span_.end(done);
}

void Call::begin_operation(const GuestLease& lease, std::string_view name) {
  operation_.emplace(caller(), metrics(), Operation::Subject{lease.driver(), lease.sandbox()},
                     name);
}

Task<std::string> Call::read_text(size_t limit) {
  auto text = co_await exchange_.read_body(limit);
  if (!text) co_return std::move(text).error().at_stage("request");
  co_return std::move(*text);
}

net::Headers Call::headers(std::string_view content_type) const {
  net::Headers headers;
  if (!content_type.empty()) headers.add("Content-Type", content_type);
  add_ids(headers, ids_);
  return headers;
}

Task<> Call::answer(int status, std::string json) {
  net::Response response;
  response.status = status;
  response.headers = headers("application/json");
  response.body = std::move(json);
  co_return co_await answer_with(std::move(response));
}

void Call::add_origin(net::Headers& headers) const {
  add_cors(headers, request(), options().origins);
}

Task<> Call::answer_with(net::Response response) {
  add_origin(response.headers);
  status_ = response.status;
  const auto replying = span_.scope().begin("reply");
  co_return co_await exchange_.respond(std::move(response));
}

Task<> Call::answer_nothing() {
  net::Response response;
  response.status = 204;
  response.headers = headers({});
  co_return co_await answer_with(std::move(response));
}

Task<> Call::answer_problem(Problem problem) {
  problem.retry_after = retry_after_;
  auto response = make_problem_response(problem, ids_);
  co_return co_await answer_with(std::move(response));
}

Task<> Call::begin(net::Headers headers) {
  status_ = 200;
  add_origin(headers);
  co_return co_await exchange_.begin(200, std::move(headers));
}

Task<net::Released> Call::upgrade(std::string protocol) {
  net::Headers headers;
  headers.add("Upgrade", protocol);
  CO_TRY(auto released, co_await exchange_.upgrade(std::move(headers)));
  status_ = 101;
  co_return released;
}

Task<std::unique_ptr<net::WebSocket>> Call::accept_websocket(std::string protocol) {
  CO_TRY(auto socket, co_await net::WebSocket::accept(exchange_, std::move(protocol)));
  status_ = 101;
  co_return socket;
}

Task<> Call::begin_sized(int status, net::Headers headers, uint64_t length) {
  status_ = status;
  add_origin(headers);
  co_return co_await exchange_.begin_sized(status, std::move(headers), length);
}

}  // namespace atl::api
