// Link: what lies between a driver and its host: the driver's transport, and a network.
//
// A call goes over as a request and comes back as an answer. While the link is cut neither gets
// through, and a call waits until the link is mended or its patience is over. As the dice say, a
// request is held up; an answer comes when nobody waits for it any more; a request of which the
// driver gave up comes after that; or one comes twice. Each as far as the transport of a real
// driver can do it: what is sent again by itself is what HTTP may send again, and creations, which
// whatever stands before an engine may repeat. Only creations and destructions come late: whoever
// gave up a pause could not tell it from somebody else's. A creation that was under way when its
// daemon died may come late, too.
//
// Commands in a sandbox go another way, which is not held up.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "driver/driver.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/trace.h"

namespace atl::simulation {

// What a transport may do with a request of which it does not know whether it has arrived.
enum class Habit : uint8_t { sends_once, sends_again };

class Link final {
 public:
  // How long a call waits for its answer.
  static constexpr Millis kPatience{5'000};

  // `silence` is what the transport makes of a call that is not answered. All outlive the link.
  Link(std::string name, Code silence, Dice& dice, Schedule& schedule, Trace& trace,
       const Clock& clock);

  // Called with every request that arrives.
  void set_on_arrival(std::function<void()> on_arrival) { on_arrival_ = std::move(on_arrival); }

  bool is_cut() const { return is_cut_; }
  void cut();
  void mend();
  // Mended, and no more trouble.
  void calm_down();
  // Those who wait have died with their daemon. What they had sent may be on its way.
  void forget_waiters();

  // A request that its host may carry out though its daemon is no more.
  struct Request {
    std::function<Task<>(Driver& driver)> ask;
    std::function<bool()> has_arrived;  // the host has begun with it
  };
  // It is under way until forget(), with the number that this gives.
  uint64_t send(Request request);
  void forget(uint64_t number) { sent_.erase(number); }
  // What earlier daemons have left on its way.
  std::vector<Request> take_left_over() { return std::exchange(left_over_, {}); }

  // `call` names it; `ask` is the host's part.
  template <typename T>
  Task<T> carry(const char* call, std::function<Task<T>()> ask, Habit habit = Habit::sends_once);

  // Whether the dice let this request come late, or twice.
  bool comes_late() { return !is_calm_ && dice_.one_in(40); }
  bool comes_twice() { return !is_calm_ && dice_.one_in(40); }
  // Gives up when its patience is over, always; then the host is asked.
  Task<> carry_late(const char* call, std::function<Task<>()> ask);
  // What its driver has given up, or its daemon has left on its way.
  Task<> arrive_late(const char* call, std::function<Task<>()> ask);
  // A second request, of which nobody takes the answer.
  Task<> carry_copy(const char* call, std::function<Task<>()> ask);

 private:
  enum class Trouble : uint8_t { none, held_up, late_answer, sent_again };

  Trouble throw_dice(Habit habit);
  Task<> wait_until_mended(Micros until);
  Task<> hold_up(const char* call);
  Task<> wait_in_vain(Micros until);
  void note(Fault fault, const char* call, const char* what);
  Error silence() const;

  const std::string name_;
  const Code silence_;
  Dice& dice_;
  Schedule& schedule_;
  Trace& trace_;
  const Clock& clock_;
  std::function<void()> on_arrival_;
  std::optional<Event> mended_;
  std::map<uint64_t, Request> sent_;
  uint64_t last_sent_ = 0;
  std::vector<Request> left_over_;
  bool is_cut_ = false;
  bool has_held_back_ = false;  // since it was cut
  bool is_calm_ = false;
};

template <typename T>
Task<T> Link::carry(const char* call, std::function<Task<T>()> ask, Habit habit) {
  const Micros until = clock_.boot() + kPatience;
  const Trouble trouble = throw_dice(habit);
  if (is_cut_) CO_TRY_OK(co_await wait_until_mended(until));
  if (trouble == Trouble::held_up) CO_TRY_OK(co_await hold_up(call));
  on_arrival_();
  auto answer = co_await ask();
  if (trouble == Trouble::sent_again) {
    note(Fault::request_twice, call, "comes twice");
    answer = co_await ask();
  }
  if (trouble == Trouble::late_answer) {
    note(Fault::answer_late, call, "is answered late");
    CO_TRY_OK(co_await wait_in_vain(until));
  }
  if (is_cut_) CO_TRY_OK(co_await wait_until_mended(until));
  co_return answer;
}

}  // namespace atl::simulation
