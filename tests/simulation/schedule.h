// Schedule: which of the things that could go on goes on next.
//
// Everything that the engine does to the world passes a point: before and after a driver acts,
// before and after the store writes. There the schedule holds it back, and lets one of all that
// wait go on when the dice say so. So one seed is one order of everything, and many seeds are many.
#pragma once

#include <vector>

#include "base/event.h"
#include "tests/simulation/dice.h"

namespace atl::simulation {

// What is slow hardly ever goes before what is not.
enum class Pace : uint8_t { usual, slow };

class Schedule final {
 public:
  explicit Schedule(Dice& dice) : dice_(dice) {}

  // Returns when its turn has come; at once if the dice say so.
  Task<> point(Pace pace = Pace::usual);

  bool is_empty() const { return waiting_.empty(); }
  // One of those that wait goes on.
  void release_one();
  // From now on nothing is held back, until restart().
  void release_all();
  // What waits has died with its daemon.
  void restart();

 private:
  struct Waiting {
    Event turn;
    Pace pace;
  };

  Dice& dice_;
  std::vector<Waiting> waiting_;
  bool is_open_ = false;
};

}  // namespace atl::simulation
