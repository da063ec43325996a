#include "core/batch.h"

#include "core/engine_world_internal.h"

namespace atl {
namespace {

using ::testing::IsEmpty;

// Commands, and what came of each.
class Kept final : public BatchRuns {
 public:
  explicit Kept(std::vector<std::vector<std::string>> commands)
      : commands_(std::move(commands)), results(commands_.size()) {}

  size_t size() const override { return commands_.size(); }
  Result<BatchRun> make(size_t index) override {
    BatchRun run;
    run.exec.argv = commands_[index];
    run.keep = 1000;
    return run;
  }
  Task<> take(size_t index, int attempts, Result<RunResult> result) override {
    EXPECT_FALSE(results[index].has_value()) << "told twice";
    results[index] = result ? result->exec.out : "error";
    tries += attempts;
    if (fails) co_return Error(Code::unavailable, "nobody listens");
    co_return Result<>();
  }

 private:
  std::vector<std::vector<std::string>> commands_;

 public:
  std::vector<std::optional<std::string>> results;
  int tries = 0;
  bool fails = false;
};

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() {
    world_.add();
    world_.start();
  }
  Task<> batch(std::shared_ptr<Kept> runs, BatchOptions options = {}) {
    return run_batch(world_.engine(), {}, runs, options, stop_);
  }
  static std::shared_ptr<Kept> echoes(size_t count) {
    std::vector<std::vector<std::string>> commands;
    for (size_t i = 0; i < count; ++i) commands.push_back({"echo", std::to_string(i)});
    return std::make_shared<Kept>(std::move(commands));
  }

  EngineWorld world_;
  std::shared_ptr<BatchStop> stop_ = std::make_shared<BatchStop>();
};

TEST_F(BatchTest, EveryRunIsToldOfOnce) {
  const auto runs = echoes(20);
  ASSERT_TRUE(world_.run(batch(runs, {.at_once = 3})));

  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(runs->results[i], std::to_string(i) + "\n");
  EXPECT_EQ(runs->tries, 20);
  world_.settle();
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(BatchTest, NoMoreAtATimeThanAsked) {
  world_.host().hold("create");
  const auto runs = echoes(10);
  const auto under_way = world_.begin(batch(runs, {.at_once = 4}));

  EXPECT_EQ(world_.host().count("create"), 4U);
  world_.host().release("create");
  world_.settle();
  EXPECT_TRUE(under_way.done());
}

TEST_F(BatchTest, AnEmptyBatchIsDone) { EXPECT_TRUE(world_.run(batch(echoes(0)))); }

TEST_F(BatchTest, AFailingCommandIsTriedAgainIfAsked) {
  const auto once = std::make_shared<Kept>(std::vector<std::vector<std::string>>{{"false"}});
  ASSERT_TRUE(world_.run(batch(once, {.attempts = 3})));
  EXPECT_EQ(once->tries, 1);

  const auto often = std::make_shared<Kept>(std::vector<std::vector<std::string>>{{"false"}});
  ASSERT_TRUE(world_.run(batch(often, {.attempts = 3, .retry_failures = true})));
  EXPECT_EQ(often->tries, 3);
}

TEST_F(BatchTest, EndsWhenNobodyListens) {
  const auto runs = echoes(100);
  runs->fails = true;
  const auto ended = world_.run(batch(runs, {.at_once = 1}));

  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message(), "nobody listens");
  EXPECT_EQ(std::ranges::count_if(runs->results, [](const auto& r) { return r.has_value(); }), 1);
}

TEST_F(BatchTest, CanBeGivenUp) {
  world_.host().hold("create");
  const auto runs = echoes(10);
  const auto under_way = world_.begin(batch(runs, {.at_once = 2}));
  stop_->stop();
  world_.host().release("create");
  world_.settle();

  EXPECT_TRUE(under_way.done());
  EXPECT_EQ(world_.host().count("create"), 2U);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

}  // namespace
}  // namespace atl
