#include "core/strategy_order.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace atl {
namespace {

using policy::Strategy;

// More than any weight, so that nothing that was lost is made up for ever.
constexpr double kMostCredit = 1e6;

double or_last(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::infinity());
}

// 0.123 → "0.12", 3.14 → "3.1", 1234 → "1234".
std::string to_short(double value) {
  const int digits = value < 1 ? 2 : value < 100 ? 1 : 0;
  std::string text(32, '\0');
  const int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  text.resize(static_cast<size_t>(std::max(0, length)));
  return text;
}

// Prices may be small: 0.00042, 0.05, 12.5.
std::string to_price(double value) {
  std::string text(32, '\0');
  const int length = std::snprintf(text.data(), text.size(), "%.4g", value);
  text.resize(static_cast<size_t>(std::max(0, length)));
  return text;
}

}  // namespace

void order_by(Strategy strategy, std::span<DriverSlot*> group, const policy::Amounts& size) {
  const auto by = [&](auto key) {
    sort_few(group, [&](const DriverSlot* one, const DriverSlot* other) {
      return key(*one) < key(*other);
    });
  };
  switch (strategy) {
    case Strategy::priority:
      return;
    case Strategy::fastest:
      return by([](const DriverSlot& slot) { return or_last(start_of(slot)); });
    case Strategy::cheapest:
      return by([&](const DriverSlot& slot) { return or_last(price_of(slot, size)); });
    case Strategy::round_robin:
      return by([](const DriverSlot& slot) { return slot.last_turn; });
    case Strategy::weighted:
      // Smooth weighted round-robin: everybody gains its weight, the first pays for all. One of
      // weight zero is asked only when the others cannot.
      return by([](const DriverSlot& slot) {
        return std::pair(slot.weight == 0, -slot.credit - static_cast<double>(slot.weight));
      });
  }
}

void take_turn(Strategy strategy, std::span<DriverSlot* const> group, uint64_t turn) {
  if (group.empty()) return;
  if (strategy == Strategy::round_robin) group.front()->last_turn = turn;
  if (strategy != Strategy::weighted) return;
  double all = 0;
  for (DriverSlot* slot : group) {
    const auto weight = static_cast<double>(slot->weight);
    slot->credit = std::min(kMostCredit, slot->credit + weight);
    all += weight;
  }
  group.front()->credit = std::max(-kMostCredit, group.front()->credit - all);
}

std::string in_words(Strategy strategy, const DriverSlot& slot, const policy::Amounts& size) {
  switch (strategy) {
    case Strategy::priority:
      return "";
    case Strategy::fastest: {
      const auto start = start_of(slot);
      if (!start) return "how long it takes to start is not known";
      return to_short(*start) + " ms to start, " +
             (slot.start.measured_ms() ? "measured" : "as it declares");
    }
    case Strategy::cheapest: {
      const auto price = price_of(slot, size);
      if (!price) return "its price is not known";
      return *price == 0 ? "it costs nothing" : "it costs $" + to_price(*price) + " an hour";
    }
    case Strategy::round_robin:
      return slot.last_turn == 0 ? "it was never first" : "its turn goes round";
    case Strategy::weighted:
      return "its weight is " + std::to_string(slot.weight);
  }
  return "";
}

}  // namespace atl
