#include "core/run_mode.h"

#include "base/text.h"
#include "config/run_modes.h"

namespace atl {
namespace {

constexpr size_t kLongestName = 64;

Error invalid(std::string message) {
  return Error(Code::invalid_argument, "run_mode: " + std::move(message)).at_stage("request");
}

}  // namespace

Result<> settle_run_mode(CreateRequest& request) {
  if (request.run_mode.empty()) return {};
  if (request.run_mode.size() > kLongestName) return invalid("it is at most 64 bytes long");
  const auto mode = config::find_run_mode(request.run_mode);
  if (!mode && config::is_hybrid(config::to_snake_case(request.run_mode))) {
    return Error(Code::unsupported,
                 "run_mode: work is not divided between a primary and a secondary sandbox here")
        .with_hint("name one way, such as docker or native")
        .at_stage("request");
  }
  if (!mode) {
    const auto names = config::run_mode_names();
    const std::string near = did_you_mean(config::to_snake_case(request.run_mode), names);
    return invalid("no run mode is called " + to_printable(request.run_mode))
        .with_hint(near.empty() ? "auto, docker and native are some"
                                : "did you mean " + near + "?");
  }
  if (!request.driver.empty()) {
    return invalid("a driver is named, too, and both say where").with_hint("leave one of them out");
  }
  request.run_mode = mode->name;
  request.preferred = mode->drivers;
  if (mode->drivers.empty()) {
    request.fallback.reset();
  } else {
    request.fallback.emplace();
  }
  return {};
}

}  // namespace atl
