#include "policy/opa.h"

#include <list>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "json/value.h"
#include "net/http_client.h"
#include "telemetry/log.h"

namespace atl::policy {
namespace {

constexpr std::string_view kDataApi = "/v1/data/";
constexpr size_t kMostAnswer = 64 * 1024;
constexpr size_t kMostRemembered = 1'000;
constexpr size_t kLongestReason = 500;
constexpr std::string_view kStage = "policy";

Error refused(std::string_view reason) {
  std::string words = "the policy server refuses this";
  if (!reason.empty()) words += ": " + to_printable(reason.substr(0, kLongestReason));
  return Error(Code::permission_denied, std::move(words))
      .with_hint("ask whoever keeps the policy of this daemon")
      .at_stage(kStage);
}

// Nothing is made without a yes.
Error no_answer(std::string_view why) {
  return Error(Code::unavailable, "the policy server gave no answer: " + std::string(why))
      .with_hint("nothing was made; try again, and tell the operator if it stays so")
      .at_stage(kStage);
}

struct Verdict {
  bool allow = false;
  std::string reason;

  Result<> result() const {
    if (allow) return {};
    return refused(reason);
  }
};

std::string_view text_of(const json::Value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

Result<Verdict> read_verdict(const std::string& body) {
  const auto parsed = json::parse(body);
  if (!parsed || !parsed->is_object()) return no_answer("what it said is no JSON object");
  const json::Object& answer = parsed->get_object();
  const json::Value* result = answer.if_contains("result");
  if (result == nullptr) return Verdict{false, "no rule applies to it"};
  if (result->is_bool()) return Verdict{result->get_bool(), {}};
  if (result->is_object()) {
    const json::Value* allow = result->get_object().if_contains("allow");
    if (allow != nullptr && allow->is_bool())
      return Verdict{allow->get_bool(),
                     std::string(text_of(result->get_object().if_contains("reason")))};
  }
  return no_answer("its result is neither a boolean nor an object with `allow`");
}

Result<net::Endpoint> parse_url(const std::string& url) {
  auto endpoint = net::Endpoint::parse(url);
  const char* hint = "write the URL of a decision: http://127.0.0.1:8181/v1/data/atoll/allow";
  if (!endpoint) {
    return Error(Code::invalid_argument, "the policy server: " + endpoint.error().message())
        .with_hint(hint);
  }
  const std::string& path = endpoint->base_path;
  if (endpoint->kind == net::Endpoint::Kind::unix_socket ||
      path.find(kDataApi) == std::string::npos || path.ends_with(kDataApi)) {
    return Error(Code::invalid_argument,
                 "the policy server: " + to_printable(url) + " names no decision")
        .with_hint(hint);
  }
  return endpoint;
}

class Opa final : public Judge {
 public:
  Opa(const asio::any_io_executor& executor, const Clock& clock, net::Endpoint endpoint,
      OpaOptions options)
      : client_(executor), clock_(clock), options_(std::move(options)) {
    target_ = std::exchange(endpoint.base_path, {});
    endpoint_ = std::move(endpoint);
  }

  Task<> decide(std::string input) override {
    if (const auto* known = find(input)) co_return known->result();
    net::ClientRequest request;
    request.method = net::Method::post;
    request.target = target_;
    request.headers.add("Content-Type", "application/json");
    request.headers.add("User-Agent", "atoll/" ATOLL_VERSION);
    if (!options_.token.empty()) request.headers.add("Authorization", "Bearer " + options_.token);
    request.body = R"({"input":)" + input + "}";
    request.timeouts.connect = options_.timeout;
    request.timeouts.first_byte = options_.timeout;
    request.timeouts.total = options_.timeout;
    request.response_limit = kMostAnswer;
    auto response = co_await client_.send(endpoint_, std::move(request));
    if (!response) co_return warn(no_answer(response.error().message()));
    if (response->status != 200)
      co_return warn(no_answer("it answered with status " + std::to_string(response->status)));
    auto verdict = read_verdict(response->body);
    if (!verdict) co_return warn(std::move(verdict).error());
    remember(std::move(input), *verdict);
    co_return verdict->result();
  }

 private:
  struct Known {
    std::string input;
    Verdict verdict;
    Micros until{0};
  };

  static Error warn(Error error) {
    telemetry::log_warn("the policy server gave no answer", {{"why", error.message()}});
    return error;
  }

  const Verdict* find(const std::string& input) {
    if (options_.remember.count() == 0) return nullptr;
    const auto found = by_input_.find(input);
    if (found == by_input_.end() || found->second->until <= clock_.boot()) return nullptr;
    return &found->second->verdict;
  }

  // Oldest first, so the front is what ends first.
  void remember(std::string input, Verdict verdict) {
    if (options_.remember.count() == 0) return;
    if (const auto found = by_input_.find(input); found != by_input_.end()) {
      known_.erase(found->second);
      by_input_.erase(found);
    }
    while (!known_.empty() &&
           (known_.size() >= kMostRemembered || known_.front().until <= clock_.boot())) {
      by_input_.erase(known_.front().input);
      known_.pop_front();
    }
    known_.push_back({std::move(input), std::move(verdict), clock_.boot() + options_.remember});
    by_input_.emplace(known_.back().input, std::prev(known_.end()));
  }

  net::HttpClient client_;
  const Clock& clock_;
  OpaOptions options_;
  net::Endpoint endpoint_;
  std::string target_;
  std::list<Known> known_;
  std::unordered_map<std::string, std::list<Known>::iterator> by_input_;
};

}  // namespace

Result<> check_opa(const OpaOptions& options) {
  TRY_OK(parse_url(options.url));
  return {};
}

Result<std::shared_ptr<Judge>> make_opa(const asio::any_io_executor& executor, const Clock& clock,
                                        OpaOptions options) {
  TRY(auto endpoint, parse_url(options.url));
  return std::make_shared<Opa>(executor, clock, std::move(endpoint), std::move(options));
}

}  // namespace atl::policy
