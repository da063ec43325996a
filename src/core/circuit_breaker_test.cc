#include "core/circuit_breaker.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace atl {
namespace {

using Outcome = CircuitBreaker::Outcome;
using std::chrono::seconds;

class CircuitBreakerTest : public ::testing::Test {
 protected:
  void fail(int times) {
    for (int i = 0; i < times; ++i) circuit_.end(circuit_.begin().value(), Outcome::failed);
  }
  // Until it is half open, however much jitter there is.
  void wait() { clock_.advance(circuit_.remaining()); }

  FakeClock clock_;
  CircuitBreaker circuit_{
      clock_, {.failures = 3, .first_pause = seconds(10), .longest_pause = seconds(60)}};
};

TEST_F(CircuitBreakerTest, FailuresInARowOpenIt) {
  fail(2);
  circuit_.end(circuit_.begin().value(), Outcome::worked);
  fail(2);
  EXPECT_EQ(circuit_.state(), Circuit::closed);
  fail(1);

  EXPECT_EQ(circuit_.state(), Circuit::open);
  EXPECT_FALSE(circuit_.begin());
  EXPECT_GE(circuit_.remaining(), seconds(8));
  EXPECT_LE(circuit_.remaining(), seconds(12));
}

TEST_F(CircuitBreakerTest, AfterThePauseOneFindsOut) {
  fail(3);
  wait();
  EXPECT_EQ(circuit_.state(), Circuit::half_open);

  const auto trial = circuit_.begin();
  ASSERT_TRUE(trial);
  EXPECT_FALSE(circuit_.may_pass());
  EXPECT_FALSE(circuit_.begin()) << "one at a time";
  circuit_.end(*trial, Outcome::worked);

  EXPECT_EQ(circuit_.state(), Circuit::closed);
  EXPECT_TRUE(circuit_.begin());
  EXPECT_EQ(circuit_.failures(), 0);
}

TEST_F(CircuitBreakerTest, EachFailedTrialDoublesThePauseUpToTheLongest) {
  fail(3);
  Micros before = circuit_.remaining();
  for (int i = 0; i < 6; ++i) {
    wait();
    circuit_.end(circuit_.begin().value(), Outcome::failed);
    EXPECT_EQ(circuit_.state(), Circuit::open);
    EXPECT_LE(circuit_.remaining(), seconds(72));
    if (i == 0) EXPECT_GT(circuit_.remaining(), before * 5 / 4);
  }
  EXPECT_GE(circuit_.remaining(), seconds(48));

  wait();
  circuit_.end(circuit_.begin().value(), Outcome::worked);
  fail(3);
  EXPECT_LE(circuit_.remaining(), seconds(12)) << "it begins anew";
}

TEST_F(CircuitBreakerTest, WhatBeganBeforeItOpenedSaysNothingNew) {
  const auto old_failure = circuit_.begin().value();
  const auto old_success = circuit_.begin().value();
  fail(3);
  const Micros left = circuit_.remaining();

  circuit_.end(old_failure, Outcome::failed);
  EXPECT_EQ(circuit_.remaining(), left);
  circuit_.end(old_success, Outcome::worked);
  EXPECT_EQ(circuit_.state(), Circuit::open);

  wait();
  const auto trial = circuit_.begin().value();
  circuit_.end(CircuitBreaker::Pass{}, Outcome::failed);
  EXPECT_FALSE(circuit_.may_pass()) << "the trial is still under way";
  circuit_.end(trial, Outcome::worked);
  EXPECT_EQ(circuit_.state(), Circuit::closed);
}

TEST_F(CircuitBreakerTest, WhatSaysNothingChangesNothing) {
  fail(2);
  circuit_.end(circuit_.begin().value(), Outcome::says_nothing);
  EXPECT_EQ(circuit_.state(), Circuit::closed);
  EXPECT_EQ(circuit_.failures(), 2) << "it has not worked, either";
  fail(1);
  wait();

  circuit_.end(circuit_.begin().value(), Outcome::says_nothing);

  EXPECT_EQ(circuit_.state(), Circuit::half_open);
  const auto next = circuit_.begin();
  ASSERT_TRUE(next) << "the next one finds out";
  circuit_.end(*next, Outcome::worked);
  EXPECT_EQ(circuit_.state(), Circuit::closed);
}

TEST_F(CircuitBreakerTest, WhoeverKnowsThatItAnswersEndsThePause) {
  circuit_.end_pause();
  EXPECT_EQ(circuit_.state(), Circuit::closed);
  fail(3);

  circuit_.end_pause();

  EXPECT_EQ(circuit_.state(), Circuit::half_open);
  EXPECT_TRUE(circuit_.begin());
}

TEST(WithJitter, StaysWithinAFifth) {
  Micros least = Micros::max();
  Micros most{0};
  for (int i = 0; i < 10'000; ++i) {
    const Micros time = with_jitter(seconds(10));
    least = std::min(least, time);
    most = std::max(most, time);
  }
  EXPECT_GE(least, seconds(8));
  EXPECT_LE(most, seconds(12));
  EXPECT_GT(most - least, seconds(3));
}

}  // namespace
}  // namespace atl
