#include "client/connection.h"

#include <fmt/core.h>

#include "base/refusal.h"
#include "base/text.h"
#include "client/answer.h"
#include "telemetry/trace_context.h"

namespace atl::client {
namespace {

constexpr size_t kLargestProblem = 64 * 1024;
constexpr size_t kLargestAnswer = 64 * 1024 * 1024;

Code code_from(std::string_view name, int status) {
  for (int i = 0; i <= static_cast<int>(Code::out_of_space); ++i) {
    const Code code = static_cast<Code>(i);
    if (to_string(code) == name) return code;
  }
  for (int i = 0; i <= static_cast<int>(Code::out_of_space); ++i) {
    const Code code = static_cast<Code>(i);
    if (http_status(code) == status) return code;
  }
  return Code::internal;
}

// Without a name sandbox_path makes the path of something else.
Result<> check_target(std::string_view target) {
  constexpr std::string_view kSandboxes = "/v1/sandboxes/";
  if (!target.starts_with(kSandboxes)) return {};
  target.remove_prefix(kSandboxes.size());
  if (!target.empty() && target[0] != '/' && target[0] != '?') return {};
  return Error(Code::invalid_argument, "the sandbox's id or name is empty");
}

}  // namespace

std::string sandbox_path(std::string_view id, std::string_view rest) {
  return "/v1/sandboxes/" + net::percent_encode(id) + std::string(rest);
}

std::string path_query(std::string_view path) {
  return is_utf8(path) ? "path=" + net::percent_encode(path)
                       : "path_b64=" + net::percent_encode(to_base64(path));
}

namespace {

// How far a sandbox came that could not be made; null when it is not about one.
std::shared_ptr<const Refusal> refusal_in(const json::Value& problem) {
  Refusal refusal{.sandbox = text_at(problem, "sandbox")};
  if (refusal.sandbox.empty()) return nullptr;
  if (const auto* stages = at(problem, "stages").if_array()) {
    for (const json::Value& stage : *stages) {
      const std::string log = text_at(stage, "log");
      refusal.stages.push_back({text_at(stage, "name"), number_at(stage, "ms"),
                                log.empty() ? std::nullopt : std::optional(log)});
    }
  }
  return std::make_shared<const Refusal>(std::move(refusal));
}

}  // namespace

Error problem_to_error(int status, std::string_view body, std::string& request_id) {
  const auto value = json::parse(body, {.max_bytes = kLargestProblem});
  const std::string detail = value ? text_at(*value, "detail") : "";
  if (detail.empty()) {
    return Error(code_from("", status),
                 fmt::format("the server answered {} {}", status, net::reason_phrase(status)))
        .with_hint("is it an Atoll daemon? look at --url and ATOLL_URL");
  }
  request_id = text_at(*value, "request_id");
  return Error(code_from(text_at(*value, "code"), status), detail)
      .with_hint(text_at(*value, "hint"))
      .at_stage(text_at(*value, "stage"))
      .with_refusal(refusal_in(*value));
}

Connection::Connection(asio::any_io_executor executor, ConnectionOptions options,
                       net::Endpoint endpoint, std::string& request_id)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      http_(std::make_shared<net::HttpClient>(executor_)),
      request_id_(&request_id) {}

Result<Connection> Connection::create(const asio::any_io_executor& executor,
                                      const ConnectionOptions& options, std::string& request_id) {
  auto endpoint = net::Endpoint::parse(options.target.url);
  if (!endpoint) {
    return std::move(endpoint)
        .error()
        .with("the URL of the daemon")
        .with_hint("write http://host:port, https://host or unix:/path");
  }
  ConnectionOptions kept = options;
  if (!telemetry::find_context(kept.traceparent)) kept.traceparent.clear();
  return Connection(executor, std::move(kept), *std::move(endpoint), request_id);
}

Connection Connection::for_caller(std::string& request_id) const {
  Connection other = *this;
  other.request_id_ = &request_id;
  return other;
}

net::ClientRequest Connection::make_request(net::Method method, std::string target) const {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.headers.add("User-Agent", "atoll/" ATOLL_VERSION);
  const std::string& key = options_.target.key;
  if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
  if (!options_.traceparent.empty()) request.headers.add("traceparent", options_.traceparent);
  request.timeouts.first_byte = options_.patience;
  request.timeouts.total = options_.patience;
  request.response_limit = kLargestAnswer;
  return request;
}

Error Connection::unreachable(Error error) const {
  if (is_local() && error.code() == Code::permission_denied) {
    return not_permitted(endpoint_.socket_path);
  }
  return std::move(error)
      .with("talking to the daemon at " + to_printable(options_.target.url))
      .with_hint("is it running? atoll serve starts one");
}

Error Connection::to_error(int status, std::string_view body) {
  Error error = problem_to_error(status, body, *request_id_);
  if (error.code() != Code::unauthenticated) return error;
  // The API's own hint is about headers.
  return Error(error.code(), error.message())
      .at_stage(error.stage())
      .with_hint(
          "set ATOLL_API_KEY to a key that an administrator of the daemon made: atoll keys create");
}

Task<std::unique_ptr<net::ClientCall>> Connection::begin(net::ClientRequest request,
                                                         net::RequestBody body) {
  request_id_->clear();
  CO_TRY_OK(check_target(request.target));
  auto call = co_await http_->open(endpoint_, std::move(request), body);
  if (!call) co_return unreachable(std::move(call).error());
  co_return std::move(call);
}

Task<> Connection::expect_success(net::ClientCall& call) {
  auto received = co_await call.receive();
  if (!received) co_return unreachable(std::move(received).error());
  const int status = call.head().status;
  if (status < 400) co_return Result<>();
  CO_TRY(const std::string body, co_await call.read_all(kLargestProblem));
  co_return to_error(status, body);
}

Task<std::string> Connection::exchange(net::ClientRequest request) {
  request_id_->clear();
  CO_TRY_OK(check_target(request.target));
  auto response = co_await http_->send(endpoint_, std::move(request));
  if (!response) co_return unreachable(std::move(response).error());
  if (response->status >= 400) co_return to_error(response->status, response->body);
  co_return std::move(response->body);
}

Task<std::string> Connection::send(net::Method method, std::string target, std::string json) {
  auto request = make_request(method, std::move(target));
  if (!json.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(json);
  return exchange(std::move(request));
}

Task<std::string> Connection::get(std::string target) {
  return send(net::Method::get, std::move(target), "");
}

Task<std::string> Connection::post(std::string target, std::string json) {
  return send(net::Method::post, std::move(target), std::move(json));
}

Task<std::string> Connection::patch(std::string target, std::string json) {
  return send(net::Method::patch, std::move(target), std::move(json));
}

Task<> Connection::remove(std::string target) {
  CO_TRY_OK(co_await send(net::Method::delete_, std::move(target), ""));
  co_return Result<>();
}

}  // namespace atl::client
