// Sandboxes that are made before anybody asks for them, complete with policy, agent and control
// groups, so that creating one is to take one. They wait for nothing but their environment.
//
// A shelf for each kind, which is everything that the launcher is asked for. One that runs empty
// holds twice as many from then on, and one that runs less than half full from the next pause on;
// one that nobody takes from holds half as many after a while, and none in the end. When there are
// too many kinds, the one that was not asked for the longest goes first. Refilling is never in the
// way of a create, which makes its own when a shelf is empty: it waits for a pause between creates
// as long as a shelf is half full, and always for those with a kernel of their own, which would
// slow down whoever makes one. Then it goes one by one. Where creates leave no pause two are on
// their way at once, so that the launcher prepares one while the other one starts.
//
// Whoever takes one gets it under the id that it has: nothing is renamed. It ends with the
// connection to this process until it is handed over, so nothing is left of a daemon that died.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/delay.h"
#include "driver/driver.h"
#include "native/plan.h"

namespace atl::native {

class ParkedBoxes final : public std::enable_shared_from_this<ParkedBoxes> {
 public:
  static constexpr size_t kFirst = 4;
  static constexpr size_t kMostOfAKind = 64;
  static constexpr size_t kMostKinds = 8;
  // Of those with an interpreter in them, which are a hundred times as large.
  static constexpr size_t kMostWarm = 8;
  // Of those with a kernel of their own, which are larger still, and take both processors for a
  // tenth of a second to make.
  static constexpr size_t kMostSentry = 4;
  // So long is a pause.
  static constexpr Micros kPause = Millis(20);
  static constexpr Micros kUnused = std::chrono::minutes(2);
  // From then on another kind may have its place.
  static constexpr Micros kStale = std::chrono::seconds(2);
  // What was reserved and not taken for so long is given back.
  static constexpr Micros kReserved = std::chrono::minutes(1);

  using Box = std::unique_ptr<Sandbox>;
  using Make = std::function<Task<Box>(std::string id, BoxRequest)>;

  // `most` of a kind; 0 = none is ever parked.
  static std::shared_ptr<ParkedBoxes> create(const asio::any_io_executor& executor,
                                             const Clock& clock, size_t most, Make make);

  // Whether a sandbox can be made without knowing more than this: it shows no directory, and takes
  // nothing that there is little of.
  static bool can_park(const BoxRequest& request);

  // Begins with a few of a kind, before the first is asked for.
  void expect(const BoxRequest& request);
  // The id of one that fits; it is kept for take(). Empty if there is none.
  std::string reserve(const BoxRequest& request);
  // nullptr if it is none of ours, or has ended since.
  Box take(const std::string& id);
  // Being made, parked or reserved.
  bool owns(const std::string& id) const;
  // It has ended by itself.
  void forget(const std::string& id);
  // Makes more where some are missing. Called when a create is through, so as not to be in its way.
  void refill();
  // From time to time: lets go of what nobody wants.
  Task<> trim();

  struct Counts {
    uint64_t hits = 0, misses = 0, parked = 0;
  };
  Counts counts() const;

 private:
  struct Shelf {
    BoxRequest request;
    std::deque<Box> ready;
    size_t wanted = kFirst;
    bool was_low = false;  // since the last pause
    Micros taken_from{0};
  };
  struct Reserved {
    Box box;
    Micros since{0};
  };
  struct Making {
    std::string id;
    BoxRequest request;
  };

  ParkedBoxes(const asio::any_io_executor& executor, const Clock& clock, size_t most, Make make)
      : executor_(executor), clock_(clock), most_(most), make_(std::move(make)), pause_(executor) {}
  size_t most_of(const BoxRequest& request) const {
    if (request.sentry) return std::min(most_, kMostSentry);
    return request.warm.empty() ? most_ : std::min(most_, kMostWarm);
  }
  static size_t half_of(const Shelf& shelf) { return (shelf.wanted + 1) / 2; }
  // How many of a kind are made at this moment, if they are not there.
  size_t enough_of(const Shelf& shelf) const;
  bool may_begin(const Shelf& shelf) const;
  Shelf* find(const BoxRequest& request);
  Shelf* find_or_add(const BoxRequest& request);
  bool make_room();
  void await_pause();
  void on_pause();
  void on_made(const std::string& id, const Result<>& made);
  Task<> make_one(std::string id, BoxRequest request);

  asio::any_io_executor executor_;
  const Clock& clock_;
  const size_t most_;
  Make make_;
  std::list<Shelf> shelves_;
  std::map<std::string, Reserved> reserved_;
  std::list<Making> making_;
  Micros not_before_{0};  // after a failure
  std::string trouble_;   // why the last one could not be made, which is told once
  bool is_quiet_ = true;
  Delay pause_;
  uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace atl::native
