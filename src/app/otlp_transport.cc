#include "app/otlp_transport.h"

#include "base/text.h"
#include "net/http_client.h"

namespace atl::app {
namespace {

constexpr std::string_view kPath = "/v1/traces";
constexpr size_t kMostHeaders = 16;
constexpr std::chrono::seconds kConnect{3};
constexpr std::chrono::seconds kTotal{10};
constexpr size_t kMostAnswer = 64 * 1024;

class HttpTransport final : public telemetry::OtlpTransport {
 public:
  HttpTransport(const asio::any_io_executor& executor, net::Endpoint endpoint, net::Headers headers)
      : client_(executor), endpoint_(std::move(endpoint)), headers_(std::move(headers)) {}

  Task<Answer> post(std::string json) override {
    net::ClientRequest request;
    request.method = net::Method::post;
    request.target = kPath;
    request.headers = headers_;
    request.body = std::move(json);
    request.timeouts.connect = kConnect;
    request.timeouts.first_byte = kTotal;
    request.timeouts.total = kTotal;
    request.response_limit = kMostAnswer;
    CO_TRY(auto response, co_await client_.send(endpoint_, std::move(request)));
    co_return Answer{response.status, std::move(response.body)};
  }

 private:
  net::HttpClient client_;
  net::Endpoint endpoint_;
  net::Headers headers_;
};

bool is_token(std::string_view name) {
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789-_.") == std::string_view::npos;
}

bool is_printable(std::string_view value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) return false;
  }
  return true;
}

// Never tells a value: it may be a key.
Result<net::Headers> parse_headers(const std::string& text) {
  net::Headers headers{{"Content-Type", "application/json"},
                       {"User-Agent", "atoll/" ATOLL_VERSION}};
  if (text.empty()) return headers;
  const auto bad = [](std::string_view why) {
    return Error(Code::invalid_argument, "OTEL_EXPORTER_OTLP_HEADERS: " + std::string(why))
        .with_hint("write name=value,name=value, with values percent-encoded");
  };
  for (const std::string& one : split(text, ',')) {
    const size_t equals = one.find('=');
    const std::string_view name = std::string_view(one).substr(0, equals);
    if (equals == std::string::npos || !is_token(name)) return bad("a name is missing");
    auto value = net::percent_decode(std::string_view(one).substr(equals + 1));
    if (!value || !is_printable(*value)) return bad("a value is not well formed");
    if (headers.size() > kMostHeaders) return bad("there are too many");
    headers.add(name, *value);
  }
  return headers;
}

Result<net::Endpoint> parse_url(const std::string& url) {
  auto endpoint = net::Endpoint::parse(url);
  if (!endpoint) {
    return Error(Code::invalid_argument, "the OTLP collector: " + endpoint.error().message())
        .with_hint(
            "write --otlp-endpoint http://127.0.0.1:4318, or the same in "
            "OTEL_EXPORTER_OTLP_ENDPOINT");
  }
  // The path is ours to add, whether it was written or not.
  if (endpoint->base_path.ends_with(kPath)) {
    endpoint->base_path.resize(endpoint->base_path.size() - kPath.size());
  }
  return endpoint;
}

}  // namespace

Result<> check_otlp_target(const OtlpTarget& target) {
  if (target.url.empty()) return {};
  TRY_OK(parse_url(target.url));
  TRY_OK(parse_headers(target.headers));
  return {};
}

Result<std::unique_ptr<telemetry::OtlpTransport>> make_otlp_transport(
    const asio::any_io_executor& executor, const OtlpTarget& target) {
  TRY(auto endpoint, parse_url(target.url));
  TRY(auto headers, parse_headers(target.headers));
  return std::make_unique<HttpTransport>(executor, std::move(endpoint), std::move(headers));
}

}  // namespace atl::app
