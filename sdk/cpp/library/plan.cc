#include "library/plan.h"

#include <unistd.h>

#include "base/refusal.h"

namespace atoll_client {
namespace {

Error to_public(const atl::Error& error, const std::string& request_id) {
  Error::Facts facts{.code = std::string(atl::to_string(error.code())),
                     .hint = error.hint(),
                     .stage = error.stage(),
                     .request_id = request_id};
  if (const auto& refusal = error.refusal()) {
    facts.sandbox = refusal->sandbox;
    for (const auto& stage : refusal->stages)
      facts.stages.push_back({stage.name, stage.ms, stage.log.value_or("")});
  }
  return Error(error.message(), std::move(facts));
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

void Socket::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::exception_ptr to_exception(const Caller& caller, const atl::Error& error,
                                const std::string& request_id) {
  if (caller.thrown) return caller.thrown;
  return std::make_exception_ptr(to_public(error, request_id));
}

void raise(const atl::Error& error, const std::string& request_id) {
  throw to_public(error, request_id);
}

atl::Result<atl::client::ConnectionOptions> find_daemon(const Options& options) {
  const atl::client::TargetWish wish{.url = given(options.url),
                                     .state_directory = given(options.state_directory),
                                     .key = given(options.key)};
  TRY(const auto search, atl::client::find_target(wish, atl::client::find_variable));
  if (!search.found) return atl::client::no_daemon(search);
  return atl::client::ConnectionOptions{
      .target = *search.found, .patience = options.patience, .traceparent = options.traceparent};
}

}  // namespace atoll_client
