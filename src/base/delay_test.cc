#include "base/delay.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace atl {
namespace {

class DelayTest : public ::testing::Test {
 protected:
  void run() {
    loop_.restart();
    loop_.run();
  }

  boost::asio::io_context loop_;
  int done_ = 0;
};

TEST_F(DelayTest, DoesItOnceAndLater) {
  Delay delay(loop_.get_executor());
  delay.after(Millis(1), [&] { ++done_; });
  EXPECT_EQ(done_, 0);
  run();
  EXPECT_EQ(done_, 1);
}

TEST_F(DelayTest, ZeroIsAtOnce) {
  Delay delay(loop_.get_executor());
  delay.after(Millis(1), [&] { done_ += 10; });
  delay.after(Micros(0), [&] { ++done_; });
  EXPECT_EQ(done_, 1);
  run();
  EXPECT_EQ(done_, 1) << "what was put off is forgotten";
}

TEST_F(DelayTest, WhatIsPutOffIsForgotten) {
  Delay delay(loop_.get_executor());
  for (int i = 0; i < 100; ++i) delay.after(Millis(1), [&] { ++done_; });
  run();
  EXPECT_EQ(done_, 1);
}

TEST_F(DelayTest, CanBePutOffWhenItIsDueAlready) {
  Delay delay(loop_.get_executor());
  std::string order;
  // Both run out before the loop looks at either: the first one's turn puts the second off.
  Delay first(loop_.get_executor());
  first.after(Micros(1), [&] {
    order += 'a';
    delay.after(Millis(2), [&] { order += 'c'; });
  });
  delay.after(Micros(2), [&] { order += 'b'; });
  const auto due = std::chrono::steady_clock::now() + Millis(1);
  while (std::chrono::steady_clock::now() < due) {
  }
  run();
  EXPECT_EQ(order, "ac");
}

TEST_F(DelayTest, IsForgottenWithItsOwner) {
  {
    Delay delay(loop_.get_executor());
    delay.after(Micros(1), [&] { ++done_; });
  }
  run();
  EXPECT_EQ(done_, 0);
}

}  // namespace
}  // namespace atl
