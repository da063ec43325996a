#include "base/fair_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/event.h"

namespace atl {
namespace {

using ::testing::ElementsAre;

constexpr Millis kLong = std::chrono::minutes(1);

class FairTurnsTest : public ::testing::Test {
 protected:
  // Takes a turn, notes it, and holds it until its event.
  static Task<> hold(FairTurns& turns, std::string tenant, std::string name, Millis most,
                     std::vector<std::string>& log, std::shared_ptr<Event> until) {
    auto turn = co_await turns.take(std::move(tenant), most);
    log.push_back(turn ? name : name + ": " + turn.error().message());
    if (!turn) co_return Result<>();
    co_return co_await until->wait();
  }
  std::shared_ptr<Event> start(const std::string& tenant, std::string name, Millis most = kLong) {
    auto until = std::make_shared<Event>(loop_.get_executor());
    spawn(loop_.get_executor(), hold(turns_, tenant, std::move(name), most, log_, until));
    settle();
    return until;
  }
  void settle() {
    loop_.restart();
    loop_.poll();
  }
  void end(const std::shared_ptr<Event>& holder) {
    holder->fire();
    settle();
  }

  asio::io_context loop_;
  std::vector<std::string> log_;
  FairTurns turns_{loop_.get_executor(), 2};
};

TEST_F(FairTurnsTest, AsManyAsItTakesGoAtOnce) {
  start("a", "a1");
  start("a", "a2");
  start("a", "a3");

  EXPECT_THAT(log_, ElementsAre("a1", "a2"));
  EXPECT_EQ(turns_.waiting(), 1U);
}

TEST_F(FairTurnsTest, WhoHasManyWaitingHoldsUpNobodyElse) {
  const auto first = start("greedy", "g1"), second = start("greedy", "g2");
  std::vector<std::shared_ptr<Event>> more;
  for (int i = 3; i <= 500; ++i) more.push_back(start("greedy", "g" + std::to_string(i)));
  const auto modest = start("modest", "m1");
  start("modest", "m2");

  end(first);
  end(second);
  end(more[0]);
  end(modest);

  EXPECT_THAT(log_, ElementsAre("g1", "g2", "g3", "m1", "g4", "m2"));
}

TEST_F(FairTurnsTest, WhoseTimeIsUpLeavesTheOthersTheirTurn) {
  const auto first = start("a", "a1"), second = start("a", "a2");
  start("b", "b1", Millis(1));
  start("c", "c1");

  loop_.restart();
  while (log_.size() < 3) loop_.run_one();
  end(first);

  EXPECT_THAT(log_, ElementsAre("a1", "a2", "b1: nothing came in time", "c1"));
  EXPECT_EQ(turns_.waiting(), 0U);
}

TEST_F(FairTurnsTest, ATurnComesBackWhoeverHeldIt) {
  for (int i = 0; i < 5; ++i) {
    const auto held = start("a", "a");
    end(held);
  }
  const auto again = start("b", "b"), too = start("b", "b");
  EXPECT_THAT(log_, ElementsAre("a", "a", "a", "a", "a", "b", "b"));
}

}  // namespace
}  // namespace atl
