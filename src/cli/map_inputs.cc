#include "cli/map_inputs.h"

#include <fmt/core.h>

#include "cli/args.h"

namespace atl::cli {
namespace {

constexpr std::string_view kSplit =
    "split them among several `atoll map`, or let each name a file: --here";

// In one go, so that what an input holds is never taken for a place.
std::string fill_in(std::string_view argument, std::string_view input, std::string_view number,
                    bool& has_place) {
  std::string filled;
  for (size_t at = 0; at < argument.size();) {
    const std::string_view rest = argument.substr(at);
    if (rest.starts_with("{}") || rest.starts_with("{#}")) {
      const bool is_number = rest[1] == '#';
      filled += is_number ? number : input;
      at += is_number ? 3 : 2;
      has_place = true;
    } else {
      filled += argument[at++];
    }
  }
  return filled;
}

}  // namespace

Result<std::string> within_limit(Result<std::string> inputs) {
  if (inputs || inputs.error().code() != Code::too_large) return inputs;
  return usage_error(fmt::format("the inputs have more than {} MiB", kMostInputBytes >> 20))
      .with_hint(kSplit);
}

Result<std::vector<std::string>> split_inputs(std::string_view text, char separator) {
  std::vector<std::string> inputs;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    const std::string_view input = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (input.empty()) continue;
    if (separator != '\0' && input.find('\0') != std::string_view::npos) {
      return usage_error("an input holds a NUL byte")
          .with_hint("-0 reads inputs that NUL bytes separate");
    }
    inputs.emplace_back(input);
    if (inputs.size() > kMostInputs)
      return usage_error("there are more than 1,000,000 inputs").with_hint(kSplit);
  }
  return inputs;
}

std::vector<std::string> fill_in(const std::vector<std::string>& command, std::string_view input,
                                 size_t number) {
  std::vector<std::string> filled;
  filled.reserve(command.size() + 1);
  bool has_place = false;
  const std::string digits = std::to_string(number);
  for (const auto& argument : command)
    filled.push_back(fill_in(argument, input, digits, has_place));
  if (!has_place) filled.emplace_back(input);
  return filled;
}

}  // namespace atl::cli
