#include "cli/client.h"

#include <fmt/core.h>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "telemetry/trace_context.h"

namespace atl::cli {
namespace {

constexpr size_t kLargestProblem = 64 * 1024;
constexpr size_t kLargestAnswer = 64 * 1024 * 1024;
// Creating a sandbox may pull an image; the server has its own deadlines.
constexpr std::chrono::minutes kPatience{10};

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

}  // namespace

std::string sandbox_path(std::string_view id, std::string_view rest) {
  return "/v1/sandboxes/" + net::percent_encode(id) + std::string(rest);
}

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
      .at_stage(text_at(*value, "stage"));
}

Client::Client(Context& context, net::Endpoint endpoint, Target target)
    : context_(context),
      endpoint_(std::move(endpoint)),
      target_(std::move(target)),
      loop_(std::make_unique<asio::io_context>(1)),
      http_(std::make_unique<net::HttpClient>(loop_->get_executor())) {}

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::open(Context& context) {
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) return no_daemon(search);
  return connect(context, *search.found);
}

Result<std::unique_ptr<Client>> Client::connect(Context& context, const Target& target) {
  auto endpoint = net::Endpoint::parse(target.url);
  if (!endpoint) {
    return std::move(endpoint)
        .error()
        .with("the URL of the daemon")
        .with_hint("write http://host:port, https://host or unix:/path");
  }
  return std::unique_ptr<Client>(new Client(context, std::move(*endpoint), target));
}

net::ClientRequest Client::make_request(net::Method method, std::string target) const {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.headers.add("User-Agent", "atoll/" ATOLL_VERSION);
  if (!target_.key.empty()) request.headers.add("Authorization", "Bearer " + target_.key);
  // Whoever started us with a trace of its own wants to see us in it.
  if (const auto parent = find_variable("TRACEPARENT"); parent && telemetry::find_context(*parent))
    request.headers.add("traceparent", *parent);
  request.timeouts.first_byte = kPatience;
  request.timeouts.total = kPatience;
  request.response_limit = kLargestAnswer;
  return request;
}

Error Client::unreachable(Error error) const {
  if (is_local() && error.code() == Code::permission_denied) {
    return not_permitted(endpoint_.socket_path);
  }
  return std::move(error)
      .with("talking to the daemon at " + single_line(target_.url))
      .with_hint("is it running? atoll serve starts one");
}

Error Client::to_error(int status, std::string_view body) {
  Error error = problem_to_error(status, body, context_.request_id);
  if (error.code() != Code::unauthenticated) return error;
  // The API's own hint is about headers.
  return Error(error.code(), error.message())
      .at_stage(error.stage())
      .with_hint(
          "set ATOLL_API_KEY to a key that an administrator of the daemon made: atoll keys create");
}

Task<std::unique_ptr<net::ClientCall>> Client::begin(net::ClientRequest request,
                                                     net::RequestBody body) {
  context_.request_id.clear();
  auto call = co_await http_->open(endpoint_, std::move(request), body);
  if (!call) co_return unreachable(std::move(call).error());
  co_return std::move(call);
}

Task<> Client::expect_success(net::ClientCall& call) {
  auto received = co_await call.receive();
  if (!received) co_return unreachable(std::move(received).error());
  const int status = call.head().status;
  if (status < 400) co_return Result<>();
  CO_TRY(const std::string body, co_await call.read_all(kLargestProblem));
  co_return to_error(status, body);
}

Task<std::string> Client::exchange(net::ClientRequest request) {
  context_.request_id.clear();
  auto response = co_await http_->send(endpoint_, std::move(request));
  if (!response) co_return unreachable(std::move(response).error());
  if (response->status >= 400) co_return to_error(response->status, response->body);
  co_return std::move(response->body);
}

Result<std::string> Client::get(std::string target) {
  return run_task(*loop_, exchange(make_request(net::Method::get, std::move(target))));
}

Result<std::string> Client::post(std::string target, std::string json) {
  auto request = make_request(net::Method::post, std::move(target));
  if (!json.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(json);
  return run_task(*loop_, exchange(std::move(request)));
}

Result<std::string> Client::patch(std::string target, std::string json) {
  auto request = make_request(net::Method::patch, std::move(target));
  if (!json.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(json);
  return run_task(*loop_, exchange(std::move(request)));
}

Result<> Client::remove(std::string target) {
  TRY_OK(run_task(*loop_, exchange(make_request(net::Method::delete_, std::move(target)))));
  return {};
}

}  // namespace atl::cli
