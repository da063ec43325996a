#include "driver/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/run_task.h"

namespace atl {
namespace {

using ::testing::ElementsAre;

class FakeDriverTest : public ::testing::Test {
 protected:
  std::unique_ptr<Sandbox> create(std::string id) {
    SandboxSpec spec;
    spec.id = std::move(id);
    spec.env = {{"COLOUR", "blue"}};
    return run_task(loop_, driver_->create(std::move(spec))).value();
  }
  ExecResult exec(Sandbox& box, std::vector<std::string> argv, std::string input = {}) {
    ExecRequest request;
    request.argv = std::move(argv);
    return run_task(loop_, exec_collect(box.guest(), std::move(request), std::move(input), 1000))
        .value();
  }

  asio::io_context loop_;
  std::shared_ptr<FakeHost> host_ = FakeHost::make("fake", Isolation::container);
  std::unique_ptr<Driver> driver_ = make_fake_driver(host_);
};

TEST_F(FakeDriverTest, RunsItsHandfulOfCommands) {
  const auto box = create("sbx1");

  EXPECT_EQ(exec(*box, {"echo", "a", "b"}).out, "a b\n");
  EXPECT_EQ(exec(*box, {"cat"}, "piped").out, "piped");
  EXPECT_EQ(exec(*box, {"exit", "7"}).status.exit_code, 7);
  EXPECT_EQ(exec(*box, {"false"}).status.exit_code, 1);
  EXPECT_EQ(exec(*box, {"env"}).out, "COLOUR=blue\n");
  EXPECT_EQ(exec(*box, {"nonsense"}).status.exit_code, 127);
}

TEST_F(FakeDriverTest, ASleeperIsWokenByASignalOnly) {
  const auto box = create("sbx1");
  ExecRequest request;
  request.argv = {"sleep"};
  auto sleeper = run_task(loop_, box->guest().start(std::move(request))).value();
  std::optional<ExitStatus> ended;
  spawn(loop_.get_executor(), [](Process& process, std::optional<ExitStatus>& out) -> Task<> {
    CO_TRY(auto event, co_await process.next());
    out = std::get<ExitStatus>(event);
    co_return Result<>();
  }(*sleeper, ended));
  loop_.restart();
  loop_.poll();
  EXPECT_FALSE(ended);

  ASSERT_TRUE(run_task(loop_, box->guest().signal(sleeper->id(), 15)));
  loop_.restart();
  loop_.poll();

  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->reason, ExitReason::killed);
}

TEST_F(FakeDriverTest, FilesSurviveAStopAndARecreate) {
  const auto box = create("sbx1");
  auto writer = run_task(loop_, box->guest().open_write("a/b.txt", 0644, Parents::create)).value();
  ASSERT_TRUE(run_task(loop_, writer->write("kept")));
  ASSERT_FALSE(run_task(loop_, box->guest().stat("a/b.txt"))) << "visible before commit";
  ASSERT_TRUE(run_task(loop_, writer->commit()));

  ASSERT_TRUE(run_task(loop_, box->stop()));
  EXPECT_FALSE(run_task(loop_, box->guest().stat("a/b.txt"))) << "a stopped guest answers";
  ASSERT_TRUE(run_task(loop_, box->recreate(SandboxSpec())));

  EXPECT_EQ(exec(*box, {"cat", "a/b.txt"}).out, "kept");
  EXPECT_EQ(exec(*box, {"env"}).out, "COLOUR=blue\n") << "an empty env keeps what there was";
}

TEST_F(FakeDriverTest, ASecondDriverOverTheSameHostAttaches) {
  create("sbx1");
  driver_ = make_fake_driver(host_);

  const auto box = run_task(loop_, driver_->attach("sbx1"));
  const auto listed = run_task(loop_, driver_->list());

  ASSERT_TRUE(box);
  EXPECT_TRUE((*box)->is_running());
  EXPECT_THAT(*listed, ElementsAre("sbx1"));
}

TEST_F(FakeDriverTest, DestroyLeavesNothing) {
  const auto box = create("sbx1");

  ASSERT_TRUE(run_task(loop_, box->destroy()));

  EXPECT_TRUE(host_->ids().empty());
  EXPECT_FALSE(box->is_running());
  EXPECT_EQ(run_task(loop_, driver_->attach("sbx1")).error().code(), Code::not_found);
}

TEST_F(FakeDriverTest, FailsAsManyCallsAsItWasTold) {
  host_->fail("create", Error(Code::resource_exhausted, "full"), 2);

  for (int i = 0; i < 2; ++i) {
    SandboxSpec spec;
    spec.id = "sbx1";
    EXPECT_EQ(run_task(loop_, driver_->create(std::move(spec))).error().code(),
              Code::resource_exhausted);
  }

  EXPECT_TRUE(host_->ids().empty());
  EXPECT_NE(create("sbx1"), nullptr);
  EXPECT_EQ(host_->count("create"), 3U);
}

}  // namespace
}  // namespace atl
