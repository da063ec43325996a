#include "cli/target.h"

namespace atl::cli {
namespace {

Result<client::TargetWish> wish_from(const Args& args) {
  const auto state = args.find("state");
  if (state && state->empty()) return usage_error("--state: the name is empty");
  return client::TargetWish{.url = args.find("url"), .state_directory = state, .key = {}};
}

}  // namespace

Result<std::string> state_directory_from(const Args& args, const Environment& environment) {
  TRY(const client::TargetWish wish, wish_from(args));
  return client::state_directory_from(wish, environment);
}

Result<TargetSearch> find_target(const Args& args, const Environment& environment) {
  TRY(const client::TargetWish wish, wish_from(args));
  return client::find_target(wish, environment);
}

}  // namespace atl::cli
