// Turns at something that serves few at a time: as many as it takes hold one, tenants take turns
// over the next, and within a tenant first come is first served (fair_queue.h).
//
//   FairTurns turns(executor, 2);
//   CO_TRY(const auto turn, co_await turns.take("search", Millis(5'000)));
//   …                       // given up with its destruction
//
// However many a tenant has waiting, another one's first waits for those who hold one and for one
// of each tenant. Lives on the core loop.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/task.h"

namespace atl {

class FairTurns final {
 public:
  // As many as `at_once` hold one at a time.
  FairTurns(const asio::any_io_executor& executor, size_t at_once);

  class Turn final {
   public:
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    friend class FairTurns;
    explicit Turn(std::shared_ptr<struct FairLine> line) : line_(std::move(line)) {}
    std::shared_ptr<struct FairLine> line_;
  };

  // Code::deadline_exceeded when it does not come within `most`, Code::cancelled when whoever waits
  // is cancelled.
  Task<Turn> take(std::string tenant, Millis most);
  size_t waiting() const;

 private:
  std::shared_ptr<struct FairLine> line_;
};

}  // namespace atl
