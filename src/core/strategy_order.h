// How a strategy orders drivers that would all do. The set stays as it is.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "core/driver_table.h"

namespace atl {

// Sorts a few things and leaves equals in their order, without the memory that std::stable_sort
// asks for.
template <typename T, typename Less>
void sort_few(std::span<T> things, Less less) {
  for (auto next = things.begin(); next != things.end(); ++next) {
    std::rotate(std::upper_bound(things.begin(), next, *next, less), next, next + 1);
  }
}

// For a sandbox of this size. Whoever is equal stays in the order of preference.
void order_by(policy::Strategy strategy, std::span<DriverSlot*> group, const policy::Amounts& size);

// The first of the group is asked first this time; for strategies that go round.
void take_turn(policy::Strategy strategy, std::span<DriverSlot* const> group, uint64_t turn);

// What the driver has that decided, in words: "3.1 ms to start, measured"; "" for priority.
std::string in_words(policy::Strategy strategy, const DriverSlot& slot,
                     const policy::Amounts& size);

}  // namespace atl
