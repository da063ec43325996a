#include "core/turns.h"

#include "base/check.h"

namespace atl {

struct Waiter {
  explicit Waiter(const asio::any_io_executor& executor) : called(executor) {}

  Event called;
  std::optional<Error> sent_away;
};

class Turn::Line final {
 public:
  explicit Line(const asio::any_io_executor& on) : executor(on) {}

  void next() {
    ATOLL_CHECK(taken);
    if (waiting.empty()) {
      taken = false;
      return;
    }
    const auto first = std::move(waiting.front());
    waiting.pop_front();
    first->called.fire();  // `taken` passes on with the turn, so nobody slips in between
  }

  asio::any_io_executor executor;
  bool taken = false;
  std::deque<std::shared_ptr<Waiter>> waiting;
};

Turn::~Turn() {
  if (line_) line_->next();
}

Turns::Turns(const asio::any_io_executor& executor)
    : line_(std::make_shared<Turn::Line>(executor)) {}

bool Turns::is_taken() const { return line_->taken; }

size_t Turns::waiting() const { return line_->waiting.size(); }

Task<Turn> Turns::take() {
  const auto line = line_;
  if (!std::exchange(line->taken, true)) co_return Turn(line);
  const auto waiter = std::make_shared<Waiter>(line->executor);
  line->waiting.push_back(waiter);
  auto woken = co_await waiter->called.wait();
  if (waiter->sent_away) co_return *waiter->sent_away;
  if (woken) co_return Turn(line);
  std::erase(line->waiting, waiter);
  co_return std::move(woken).error();
}

Task<Turn> Turns::take_before_all(Error why) {
  const auto line = line_;
  for (const auto& waiter : std::exchange(line->waiting, {})) {
    waiter->sent_away = why;
    waiter->called.fire();
  }
  co_return co_await take();
}

}  // namespace atl
