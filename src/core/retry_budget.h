// RetryBudget: how often creates may go on to another driver, so that trouble of one driver does
// not become twice the load on the others.
//
// A bucket of tokens: each failover takes one, each create puts a part of one back, and so does
// time.
#pragma once

#include "core/routing_options.h"

namespace atl {

class RetryBudget final {
 public:
  // `clock` outlives it. It begins full.
  explicit RetryBudget(const Clock& clock, RetryOptions options = {});

  void note_request();
  // False: there is nothing left.
  bool take();
  double left() const { return tokens_; }

 private:
  void refill();

  const Clock& clock_;
  const RetryOptions options_;
  double tokens_;
  Micros refilled_at_;
};

}  // namespace atl
