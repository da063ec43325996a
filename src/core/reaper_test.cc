#include "core/reaper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/fake_clock.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReaperTest : public ::testing::Test {
 protected:
  ReaperTest() {
    reaper_.set_expire([this](const RecordPtr& record) { expired_.push_back(record->id); });
  }
  RecordPtr add(std::string id, seconds ttl) {
    auto record = std::make_shared<SandboxRecord>(loop_.get_executor());
    record->id = std::move(id);
    record->state = State::running;
    record->expires_boot = clock_.boot() + ttl;
    reaper_.schedule(record);
    return record;
  }
  void pass(seconds time) {
    clock_.advance(time);
    reaper_.step();
  }

  asio::io_context loop_;
  FakeClock clock_;
  Reaper reaper_{loop_.get_executor(), clock_};
  std::vector<std::string> expired_;
};

TEST_F(ReaperTest, EndsEachAtItsMomentAndOnce) {
  add("late", seconds(20));
  add("early", seconds(10));
  add("same", seconds(10));

  pass(seconds(9));
  EXPECT_THAT(expired_, IsEmpty());
  pass(seconds(1));
  EXPECT_THAT(expired_, ElementsAre("early", "same"));
  pass(seconds(100));

  EXPECT_THAT(expired_, ElementsAre("early", "same", "late"));
}

TEST_F(ReaperTest, ADeadlineThatMovedAwayIsLookedAtAgain) {
  const auto record = add("a", seconds(10));
  record->expires_boot += seconds(10);

  pass(seconds(10));
  EXPECT_THAT(expired_, IsEmpty());
  pass(seconds(10));

  EXPECT_THAT(expired_, ElementsAre("a"));
}

TEST_F(ReaperTest, ADeadlineThatCameNearerCountsWhenItIsScheduled) {
  const auto record = add("a", seconds(100));
  record->expires_boot = clock_.boot() + seconds(1);
  reaper_.schedule(record);

  pass(seconds(1));
  pass(seconds(100));

  EXPECT_THAT(expired_, ElementsAre("a"));
}

TEST_F(ReaperTest, ForgottenOnesTakeNoMemory) {
  auto record = add("a", seconds(10));
  const std::weak_ptr<SandboxRecord> left = record;

  reaper_.forget(*record);
  record.reset();

  EXPECT_TRUE(left.expired());
  pass(seconds(10));
  EXPECT_THAT(expired_, IsEmpty());
}

TEST_F(ReaperTest, TheTimerFollowsTheEarliestDeadline) {
  bool stopped = false;
  spawn(loop_.get_executor(), reaper_.run(), [&](Result<>) { stopped = true; });
  loop_.poll();
  add("a", seconds(0));  // due at once, though the timer was set for much later

  while (expired_.empty()) loop_.run_one();
  reaper_.stop();
  loop_.run();

  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace atl
