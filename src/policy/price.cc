#include "policy/price.h"

#include <charconv>
#include <optional>
#include <string>

#include "base/text.h"

namespace atl::policy {
namespace {

constexpr size_t kLongestPrice = 200;
constexpr double kMibInGib = 1'024;

// Digits and a point: no sign, no exponent, no `inf`.
std::optional<double> find_amount(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  double amount = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, trouble] = std::from_chars(text.data(), end, amount, std::chars_format::fixed);
  if (trouble != std::errc() || stop != end || amount > kMostPrice) return std::nullopt;
  return amount;
}

}  // namespace

double Price::of(const Amounts& size) const {
  return sandbox + cpu * static_cast<double>(size.milli_cpus) / 1'000 +
         gib * static_cast<double>(size.memory_mb) / kMibInGib;
}

Result<Price> parse_price(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Error(Code::invalid_argument,
                 "'" + to_printable(text.substr(0, 80)) + "' is no price: " + std::string(why))
        .with_hint("US dollars an hour, for example 0.05 or 0.01+0.05/cpu+0.02/gib");
  };
  if (text.size() > kLongestPrice) return bad("it is longer than 200 bytes");
  std::optional<double> sandbox;
  std::optional<double> cpu;
  std::optional<double> gib;
  for (const std::string& part : split(text, '+')) {
    const size_t slash = std::min(part.find('/'), part.size());
    const std::string_view per = std::string_view(part).substr(slash);
    std::optional<double>* const term = per.empty()     ? &sandbox
                                        : per == "/cpu" ? &cpu
                                        : per == "/gib" ? &gib
                                                        : nullptr;
    if (term == nullptr) return bad("it is for each /cpu, for each /gib, or for each sandbox");
    if (*term) return bad("it says the same twice");
    *term = find_amount(std::string_view(part).substr(0, slash));
    if (!*term) return bad("its parts are numbers from 0 to 1000000000");
  }
  return Price{sandbox.value_or(0), cpu.value_or(0), gib.value_or(0)};
}

}  // namespace atl::policy
