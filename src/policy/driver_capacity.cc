#include "policy/driver_capacity.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "base/text.h"
#include "json/value.h"
#include "policy/written_value.h"

namespace atl::policy {
namespace {

constexpr size_t kLongestCapacity = 200;
constexpr double kMostNumber = 1e9;

// Digits and a point, more than zero.
std::optional<double> find_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, trouble] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (trouble != std::errc() || stop != end || !(number > 0) || number > kMostNumber)
    return std::nullopt;
  return number;
}

std::optional<int64_t> find_count(std::string_view text) {
  const auto number = find_number(text);
  if (!number || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<int64_t> find_mib(std::string_view text) {
  if (const auto plain = find_count(text)) return plain;
  const auto mib = to_mib("", json::Value(std::string(text)));
  if (!mib || *mib <= 0) return std::nullopt;
  return *mib;
}

}  // namespace

Result<Quota> parse_capacity(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Error(Code::invalid_argument,
                 "'" + to_printable(text.substr(0, 80)) + "' is no capacity: " + std::string(why))
        .with_hint("for example 20, or sandboxes=20,cpus=8,memory=16g,disk=100g");
  };
  if (text.size() > kLongestCapacity) return bad("it is longer than 200 bytes");
  Quota capacity;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const bool is_plain = equals == std::string::npos;
    const std::string name = is_plain ? "sandboxes" : part.substr(0, equals);
    const std::string value = is_plain ? part : part.substr(equals + 1);
    std::optional<int64_t> number;
    std::optional<int64_t>* limit = nullptr;
    if (name == "sandboxes") {
      limit = &capacity.sandboxes;
      number = find_count(value);
    } else if (name == "cpus") {
      limit = &capacity.milli_cpus;
      if (const auto cpus = find_number(value))
        number = static_cast<int64_t>(std::ceil(*cpus * 1'000));
    } else if (name == "memory") {
      limit = &capacity.memory_mb;
      number = find_mib(value);
    } else if (name == "disk") {
      limit = &capacity.disk_mb;
      number = find_mib(value);
    }
    if (limit == nullptr) return bad("it is of sandboxes, cpus, memory and disk");
    if (*limit) return bad("it says the same twice");
    if (!number) return bad(name + " is a number of more than 0, memory and disk with their unit");
    *limit = number;
  }
  return capacity;
}

}  // namespace atl::policy
