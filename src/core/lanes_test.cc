#include "core/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LanesTest : public ::testing::Test {
 protected:
  LanesTest() { lanes_.set_owner(owner_); }

  // Ends when it is let go.
  void add(const std::string& lane, const std::string& id) {
    auto& held = held_.try_emplace(id, executor_).first->second;
    lanes_.add(batch_, lane, id, [this, id, &held] { return work(id, held); });
    settle();
  }
  void let_go(const std::string& id) {
    held_.at(id).fire();
    settle();
  }
  bool has_ended() {
    const auto ended = std::make_shared<bool>(false);
    spawn(executor_, Lanes::wait(batch_), [this, ended](const Result<>& result) {
      *ended = true;
      failure_ = result ? "" : result.error().message();
    });
    settle();
    return *ended;
  }
  void settle() {
    loop_.restart();
    loop_.poll();
  }
  Task<> work(std::string id, Event held) {
    begun_.push_back(id);
    CO_TRY_OK(co_await held.wait());
    if (id.starts_with("bad")) co_return Error(Code::unavailable, id + " failed");
    co_return Result<>();
  }

  asio::io_context loop_;
  asio::any_io_executor executor_ = loop_.get_executor();
  std::shared_ptr<int> owner_ = std::make_shared<int>();
  Lanes lanes_{executor_, 2};
  Lanes::BatchPtr batch_ = lanes_.new_batch();
  std::map<std::string, Event> held_;
  std::vector<std::string> begun_;
  std::string failure_;
};

TEST_F(LanesTest, OneThatHangsHoldsUpItsOwnLaneAlone) {
  for (const char* id : {"a1", "a2", "a3"}) add("a", id);
  add("b", "b1");
  EXPECT_THAT(begun_, ElementsAre("a1", "a2", "b1")) << "two at a time";

  let_go("a2");

  EXPECT_THAT(begun_, ElementsAre("a1", "a2", "b1", "a3"));
  let_go("b1");
  let_go("a3");
  EXPECT_FALSE(has_ended());
  let_go("a1");
  EXPECT_TRUE(has_ended());
}

TEST_F(LanesTest, WhatEndsAtOnceIsNotTheEndOfTheRest) {
  add("a", "a1");
  let_go("a1");
  add("b", "b1");

  EXPECT_FALSE(has_ended());
  let_go("b1");
  EXPECT_TRUE(has_ended());
}

TEST_F(LanesTest, WhatIsUnderWayOrWaitsIsNotTakenTwice) {
  for (const char* id : {"a1", "a1", "a2", "a3", "a3"}) add("a", id);
  for (const char* id : {"a1", "a2", "a3"}) let_go(id);
  EXPECT_THAT(begun_, ElementsAre("a1", "a2", "a3"));

  add("a", "a1");

  EXPECT_THAT(begun_, ElementsAre("a1", "a2", "a3", "a1")) << "once it is over it can be again";
}

TEST_F(LanesTest, TheFirstFailureIsTold) {
  for (const char* id : {"fine", "bad1", "bad2"}) add("a", id);
  for (const char* id : {"bad1", "bad2", "fine"}) let_go(id);

  EXPECT_TRUE(has_ended());
  EXPECT_EQ(failure_, "bad1 failed");
}

TEST_F(LanesTest, AtTheEndWhatWaitsIsGivenUpAndNothingIsTaken) {
  for (const char* id : {"a1", "a2", "a3"}) add("a", id);

  lanes_.stop();
  add("b", "b1");
  let_go("a1");
  let_go("a2");

  EXPECT_THAT(begun_, ElementsAre("a1", "a2"));
  EXPECT_TRUE(has_ended());
}

TEST_F(LanesTest, NothingIsBegunForWhoIsGone) {
  owner_.reset();

  add("a", "a1");

  EXPECT_THAT(begun_, IsEmpty());
}

}  // namespace
}  // namespace atl
