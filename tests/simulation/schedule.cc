#include "tests/simulation/schedule.h"

#include <boost/asio/this_coro.hpp>

namespace atl::simulation {

Task<> Schedule::point(Pace pace) {
  if (is_open_) co_return Result<>();
  if (pace == Pace::usual && dice_.one_in(3)) co_return Result<>();
  const auto executor = co_await asio::this_coro::executor;
  Event turn(executor);
  waiting_.push_back({turn, pace});
  co_return co_await turn.wait();
}

void Schedule::release_one() {
  std::vector<size_t> quick;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].pace == Pace::usual) quick.push_back(i);
  }
  const bool any = quick.empty() || dice_.one_in(20);
  const size_t chosen = any ? dice_.below(waiting_.size()) : dice_.pick(quick);
  waiting_[chosen].turn.fire();
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(chosen));
}

void Schedule::release_all() {
  is_open_ = true;
  for (auto& one : waiting_) one.turn.fire();
  waiting_.clear();
}

void Schedule::restart() {
  waiting_.clear();
  is_open_ = false;
}

}  // namespace atl::simulation
