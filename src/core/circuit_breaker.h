// CircuitBreaker: stops asking a driver that fails to create again and again, and finds out with
// one request at a time whether it works again.
//
//   closed     creates go through; so many failures in a row open it
//   open       none goes through until its pause is over
//   half_open  the pause is over: one create goes through and decides
//
// Only what a driver could not do for a while counts as a failure. That it is full, or that a
// request was wrong, says that it answers. A create that was given up on the way says nothing: the
// circuit stays what it was, and when it is half open the next one finds out.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/describe/enum.hpp>

#include "core/routing_options.h"

namespace atl {

enum class Circuit : uint8_t { closed, open, half_open };
BOOST_DESCRIBE_ENUM(Circuit, closed, open, half_open)

class CircuitBreaker final {
 public:
  // `clock` outlives it.
  explicit CircuitBreaker(const Clock& clock, CircuitOptions options = {})
      : clock_(&clock), options_(options) {}

  // A create that was let through, until end() is told of it.
  struct Pass {
    bool is_trial = false;
  };
  // Nullopt: not now.
  std::optional<Pass> begin();
  enum class Outcome : uint8_t { worked, failed, says_nothing };
  void end(Pass pass, Outcome outcome);
  // Somebody knows that it answers again: the pause is over.
  void end_pause();

  Circuit state() const;
  // Whether begin() would let somebody through.
  bool may_pass() const;
  // How long it stays open; zero when it is not.
  Micros remaining() const;
  int failures() const { return failures_; }

 private:
  void open();

  const Clock* clock_;
  CircuitOptions options_;
  int failures_ = 0;             // in a row
  int openings_ = 0;             // since it was closed
  std::optional<Micros> until_;  // set unless it is closed
  bool has_trial_ = false;
};

// `time` and up to a fifth more or less.
Micros with_jitter(Micros time);

}  // namespace atl
