#include "core/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace atl {
namespace {

using ::testing::ElementsAre;

class TurnsTest : public ::testing::Test {
 protected:
  // Takes a turn, notes it, and holds it until its event.
  static Task<> hold(Task<Turn> taking, std::string name, std::vector<std::string>& log,
                     std::shared_ptr<Event> until) {
    auto turn = co_await std::move(taking);
    log.push_back(turn ? name : name + ": " + turn.error().message());
    if (!turn) co_return Result<>();
    co_return co_await until->wait();
  }
  std::shared_ptr<Event> start(Task<Turn> taking, std::string name) {
    auto until = std::make_shared<Event>(loop_.get_executor());
    spawn(loop_.get_executor(), hold(std::move(taking), std::move(name), log_, until));
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
  Turns turns_{loop_.get_executor()};
};

TEST_F(TurnsTest, FirstComeFirstServed) {
  const auto a = start(turns_.take(), "a");
  const auto b = start(turns_.take(), "b");
  const auto c = start(turns_.take(), "c");
  EXPECT_THAT(log_, ElementsAre("a"));

  end(a);
  end(b);

  EXPECT_THAT(log_, ElementsAre("a", "b", "c"));
  end(c);
  EXPECT_FALSE(turns_.is_taken());
}

TEST_F(TurnsTest, DestructionGoesFirstAndSendsTheOthersAway) {
  const auto a = start(turns_.take(), "a");
  start(turns_.take(), "b");
  const auto last = start(turns_.take_before_all(Error(Code::conflict, "too late")), "last");
  EXPECT_THAT(log_, ElementsAre("a", "b: too late"));

  end(a);

  EXPECT_THAT(log_, ElementsAre("a", "b: too late", "last"));
  end(last);
  EXPECT_FALSE(turns_.is_taken());
}

}  // namespace
}  // namespace atl
