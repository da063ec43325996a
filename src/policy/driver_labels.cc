#include "policy/driver_labels.h"

#include "base/text.h"

namespace atl::policy {
namespace {

constexpr size_t kLongestWord = 63;
constexpr size_t kLongestText = 2'048;

bool is_word(std::string_view word) {
  return word.size() <= kLongestWord &&
         word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
             std::string_view::npos;
}

}  // namespace

Result<> check_driver_labels(const DriverLabels& labels) {
  const auto bad = [](const std::string& why) {
    return Error(Code::invalid_argument, "driver_labels: " + why);
  };
  if (labels.size() > kMostDriverLabels)
    return bad("there are " + std::to_string(labels.size()) + ", at most 16 are allowed");
  for (const auto& [name, value] : labels) {
    if (name.empty() || !is_word(name) || !is_word(value)) {
      std::string both = name;
      both.append("=").append(value);
      return bad("names and values are up to 63 letters, digits and . _ - /; this one is not: " +
                 to_printable(both.substr(0, 140)));
    }
  }
  return {};
}

Result<DriverLabels> parse_driver_labels(std::string_view text) {
  if (text.size() > kLongestText)
    return Error(Code::invalid_argument, "driver_labels: the list is longer than 2048 bytes");
  DriverLabels labels;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string value = equals == part.size() ? "" : part.substr(equals + 1);
    if (!labels.emplace(part.substr(0, equals), value).second) {
      return Error(Code::invalid_argument,
                   "driver_labels: " + to_printable(part.substr(0, equals)) + " is there twice");
    }
  }
  TRY_OK(check_driver_labels(labels));
  return labels;
}

std::string label_text(const std::string& name, const std::string& value) {
  return value.empty() ? name : name + "=" + value;
}

}  // namespace atl::policy
