#include "tests/simulation/link.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

namespace atl::simulation {

Link::Link(std::string name, Code silence, Dice& dice, Schedule& schedule, Trace& trace,
           const Clock& clock)
    : name_(std::move(name)),
      silence_(silence),
      dice_(dice),
      schedule_(schedule),
      trace_(trace),
      clock_(clock) {}

void Link::cut() {
  is_cut_ = true;
  has_held_back_ = false;
  trace_.say(name_ + " is cut off");
}

void Link::mend() {
  is_cut_ = false;
  if (mended_) mended_->fire();
  mended_.reset();
}

void Link::calm_down() {
  is_calm_ = true;
  mend();
}

void Link::forget_waiters() {
  mended_.reset();
  for (auto& [number, request] : std::exchange(sent_, {})) {
    const bool is_on_its_way = !is_calm_ && !is_cut_ && !request.has_arrived();
    if (is_on_its_way && dice_.one_in(2)) left_over_.push_back(std::move(request));
  }
}

uint64_t Link::send(Request request) {
  sent_.emplace(++last_sent_, std::move(request));
  return last_sent_;
}

Link::Trouble Link::throw_dice(Habit habit) {
  if (is_calm_) return Trouble::none;
  switch (dice_.below(150)) {
    case 0:
      return Trouble::held_up;
    case 1:
      return Trouble::late_answer;
    case 2:
    case 3:
    case 4:
      return habit == Habit::sends_again ? Trouble::sent_again : Trouble::none;
    default:
      return Trouble::none;
  }
}

Task<> Link::wait_until_mended(Micros until) {
  if (!std::exchange(has_held_back_, true)) trace_.count(Fault::link_partitioned);
  const auto executor = co_await asio::this_coro::executor;
  if (!mended_) mended_.emplace(executor);
  Event mended = *mended_;
  const auto left = std::chrono::ceil<Millis>(until - clock_.boot());
  const auto waited = co_await mended.wait_for(std::max(left, Millis(0)));
  if (!waited && waited.error().code() == Code::deadline_exceeded) co_return silence();
  co_return waited;
}

Task<> Link::hold_up(const char* call) {
  note(Fault::link_delayed, call, "is held up");
  const auto executor = co_await asio::this_coro::executor;
  Event never(executor);
  const auto waited = co_await never.wait_for(Millis(10 + dice_.below(2'000)));
  if (waited.error().code() != Code::deadline_exceeded) co_return waited;
  co_return Result<>();
}

Task<> Link::wait_in_vain(Micros until) {
  const auto executor = co_await asio::this_coro::executor;
  Event never(executor);
  const auto left = std::chrono::ceil<Millis>(until - clock_.boot());
  const auto waited = co_await never.wait_for(std::max(left, Millis(0)));
  if (waited.error().code() != Code::deadline_exceeded) co_return waited;
  co_return silence();
}

Task<> Link::carry_late(const char* call, std::function<Task<>()> ask) {
  const auto waited = co_await wait_in_vain(clock_.boot() + kPatience);
  // Who was cancelled has sent nothing.
  if (waited.error().code() == Code::cancelled) co_return waited;
  const auto executor = co_await asio::this_coro::executor;
  spawn(executor, arrive_late(call, std::move(ask)));
  co_return waited;
}

Task<> Link::arrive_late(const char* call, std::function<Task<>()> ask) {
  CO_TRY_OK(co_await schedule_.point(Pace::slow));
  if (is_cut_) co_return Result<>();
  note(Fault::request_late, call, "comes late");
  on_arrival_();
  co_return co_await ask();
}

Task<> Link::carry_copy(const char* call, std::function<Task<>()> ask) {
  CO_TRY_OK(co_await schedule_.point());
  if (is_cut_) co_return Result<>();
  note(Fault::request_twice, call, "comes twice");
  on_arrival_();
  co_return co_await ask();
}

void Link::note(Fault fault, const char* call, const char* what) {
  trace_.count(fault);
  trace_.say(name_ + ": " + call + " " + what);
}

Error Link::silence() const {
  return {silence_,
          name_ + " has not answered within " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kPatience).count()) +
              " s"};
}

}  // namespace atl::simulation
