// What the environment says of an engine: where it is, which image, how long a pull may take.
#include <stdlib.h>
#include <unistd.h>

#include <charconv>

#include "base/text.h"
#include "container/engine_driver.h"
#include "container/host_share.h"

namespace atl::container {
namespace {

std::string variable(std::string_view name) {
  const char* value = getenv(std::string(name).c_str());
  return value != nullptr ? value : "";
}

}  // namespace

std::string usual_socket(const Dialect& dialect) {
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  if (geteuid() != 0 && runtime.starts_with('/')) {
    std::string own = runtime + "/" + std::string(dialect.own_part);
    if (access(own.c_str(), F_OK) == 0) return own;
  }
  return std::string(dialect.socket);
}

EngineDriverOptions options_from_environment(const Dialect& dialect) {
  EngineDriverOptions options;
  options.host = variable(dialect.variable);
  options.image = variable(dialect.image_variable);
  if (!variable("DOCKER_TLS_VERIFY").empty()) {
    options.certificates = variable("DOCKER_CERT_PATH");
    if (options.certificates.empty()) options.certificates = variable("HOME") + "/.docker";
  }
  auto patience = parse_pull_patience(variable("ATOLL_PULL_TIMEOUT"));
  if (patience) options.pull_patience = *patience;
  if (!patience) options.malformed = std::move(patience).error();
  auto roots = parse_share_roots(variable("ATOLL_ENGINE_MOUNT_ROOTS"));
  if (roots) {
    options.mount_roots = *std::move(roots);
  } else {
    options.malformed = std::move(roots).error();
  }
  return options;
}

Result<Millis> parse_pull_patience(const std::string& text) {
  constexpr int64_t kMostSeconds = 86'400;
  if (text.empty()) return kPullPatience;
  int64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seconds);
  if (read.ec == std::errc() && read.ptr == end && seconds >= 1 && seconds <= kMostSeconds)
    return Millis(seconds * 1000);
  return Error(Code::invalid_argument, "ATOLL_PULL_TIMEOUT: " + to_printable(text.substr(0, 80)) +
                                           " is not a number of seconds from 1 to " +
                                           std::to_string(kMostSeconds))
      .with_hint("leave it out for " + std::to_string(kPullPatience.count() / 1000) + " s");
}

}  // namespace atl::container
