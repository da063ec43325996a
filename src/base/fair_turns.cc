#include "base/fair_turns.h"

#include <map>

#include "base/event.h"
#include "base/fair_queue.h"

namespace atl {

struct FairLine {
  struct Waiter {
    explicit Waiter(const asio::any_io_executor& executor) : called(executor) {}
    Event called;
    bool has_turn = false;
  };

  FairLine(const asio::any_io_executor& on, size_t most) : executor(on), at_once(most) {}

  void serve() {
    while (taken < at_once) {
      const auto next = queue.front();
      if (!next) return;
      queue.pop();
      const auto waiter = std::move(waiters.extract(*next).mapped());
      ++taken;
      waiter->has_turn = true;
      waiter->called.fire();
    }
  }

  asio::any_io_executor executor;
  const size_t at_once;
  size_t taken = 0;
  FairQueue queue;
  std::map<FairQueue::Number, std::shared_ptr<Waiter>> waiters;
};

FairTurns::Turn::~Turn() {
  if (!line_) return;
  --line_->taken;
  line_->serve();
}

FairTurns::FairTurns(const asio::any_io_executor& executor, size_t at_once)
    : line_(std::make_shared<FairLine>(executor, at_once)) {}

size_t FairTurns::waiting() const { return line_->queue.size(); }

Task<FairTurns::Turn> FairTurns::take(std::string tenant, Millis most) {
  const auto line = line_;
  if (line->taken < line->at_once) {  // and so nobody waits
    ++line->taken;
    co_return Turn(line);
  }
  const auto number = line->queue.push(tenant);
  const auto waiter = std::make_shared<FairLine::Waiter>(line->executor);
  line->waiters[number] = waiter;
  auto woken = co_await waiter->called.wait_for(most);
  if (waiter->has_turn) {
    Turn turn(line);  // given on, if nobody wants it any more
    if (!woken) co_return std::move(woken).error();
    co_return std::move(turn);
  }
  line->queue.remove(number);
  line->waiters.erase(number);
  co_return std::move(woken).error();
}

}  // namespace atl
