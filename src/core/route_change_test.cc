// What becomes of a create when drivers come to offer less, or others come up, after its route was
// chosen: while it waits, while it falls over, and while it is made.
#include "core/engine_world_internal.h"
#include "policy/judge.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RouteChangeTest : public ::testing::Test {
 protected:
  RouteChangeTest() {
    world_.add("first", Isolation::vm);
    world_.add("second", Isolation::vm);
  }
  static CreateRequest of_a_vm() {
    CreateRequest request;
    request.min_isolation = Isolation::vm;
    return request;
  }
  // At this step of the first driver, once, `change` is made and every driver asked; then the step
  // goes on, or fails.
  void change_at(const std::string& when, std::function<void()> change, Result<> then = {}) {
    world_.host(0).on_step = [this, when, change = std::move(change), then = std::move(then),
                              done = std::make_shared<bool>(false)](std::string step) {
      const bool is_time = step == when && !std::exchange(*done, *done || step == when);
      return step_on(is_time, change, then);
    };
  }
  Task<> step_on(bool is_time, std::function<void()> change, Result<> then) {
    if (!is_time) co_return Result<>();
    change();
    CO_TRY_OK(co_await world_.engine().probe_drivers());
    co_return then;
  }
  void weaken(size_t host) { world_.host(host).capabilities.isolation = Isolation::none; }
  static Error broken() { return Error(Code::unavailable, "it broke"); }

  EngineWorld world_;
};

TEST_F(RouteChangeTest, WhoOffersLessSinceIsNotAskedWhenAnotherFails) {
  world_.add("third", Isolation::vm);
  world_.start();
  change_at("create before", [&] { weaken(1); }, broken());

  const auto made = world_.create(of_a_vm());

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->driver, "third");
  EXPECT_EQ(world_.host(1).count("create"), 0U);
}

TEST_F(RouteChangeTest, NorIsOneThatIsFartherAwaySince) {
  world_.start();
  change_at(
      "create before", [&] { world_.host(1).capabilities.placement = Placement::third_party; },
      broken());

  const auto made = world_.create();

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->driver, "first") << "there is no other, so it is asked again";
  EXPECT_EQ(world_.host(1).count("create"), 0U);
}

TEST_F(RouteChangeTest, NorIsOneWithoutIsolationThatNobodyHasNamed) {
  world_.start();
  change_at("create before", [&] { weaken(1); }, broken());
  EXPECT_EQ(world_.create()->driver, "first");
  EXPECT_EQ(world_.host(1).count("create"), 0U);

  world_.host(1).capabilities.isolation = Isolation::vm;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));
  change_at("create before", [&] { weaken(1); }, broken());
  CreateRequest named;
  named.preferred = {"first", "second"};

  EXPECT_EQ(world_.create(std::move(named))->driver, "second");
}

TEST_F(RouteChangeTest, TheOnlyOneIsNotAskedAgainWhenItOffersLess) {
  world_.host(1).down();
  world_.start();
  change_at("create before", [&] { weaken(0); }, broken());

  const auto refused = world_.create(of_a_vm());

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("it broke"));
  EXPECT_EQ(world_.host(0).count("create"), 1U);
  EXPECT_THAT(world_.host(0).ids(), IsEmpty());
}

TEST_F(RouteChangeTest, WhatWasMadeByOneThatCameToOfferLessIsHandedToNobody) {
  world_.start();
  change_at("create after", [&] { weaken(0); });

  const auto made = world_.create(of_a_vm());

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->driver, "second");
  EXPECT_THAT(world_.host(0).ids(), IsEmpty());
}

TEST_F(RouteChangeTest, WhereThereIsNoOtherNothingIsLeftOfIt) {
  world_.start();
  change_at("create after", [&] { weaken(0); });
  CreateRequest request = of_a_vm();
  request.driver = "first";

  const auto refused = world_.create(std::move(request));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("first offers none, vm was asked"));
  EXPECT_THAT(world_.host(0).ids(), IsEmpty());
}

TEST_F(RouteChangeTest, WhatIsStillEnoughIsSaidToBeNoMoreThanItIs) {
  world_.start();
  change_at("create after", [&] { world_.host(0).capabilities.isolation = Isolation::container; });

  const auto made = world_.create();

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->driver, "first");
  EXPECT_EQ(made->isolation, Isolation::container);
}

TEST_F(RouteChangeTest, AFreshOneInThePlaceOfADeadParkedOneKeepsToTheFloor) {
  world_.options.pooling = Pooling::on;
  PoolSpec spec;
  spec.size.target = 1;
  world_.start();
  ASSERT_TRUE(world_.run(world_.engine().create_pool("warm", spec)));
  world_.settle();
  ASSERT_EQ(world_.host(0).ids().size(), 1U);
  world_.host(0).fail("destroy", Error(Code::unavailable, "it hangs"));
  change_at("renew before", [&] { weaken(1); }, Error(Code::not_found, "it has died"));

  const auto refused = world_.create();

  EXPECT_FALSE(refused);
  EXPECT_EQ(world_.host(1).count("create"), 0U);
}

// Says yes, after whatever happens while it thinks.
class SlowJudge final : public policy::Judge {
 public:
  Task<> decide(std::string input) override {
    asked.push_back(std::move(input));
    co_return Result<>();
  }

  std::vector<std::string> asked;
};

// A create that waits for its turn, after the policy server was asked.
class JudgedTest : public RouteChangeTest {
 protected:
  JudgedTest() {
    world_.options.judge = judge_;
    world_.options.admission.most_creations = 1;
    world_.options.admission.queue_timeout = seconds(10);
  }
  Result<SandboxView> create_while(std::function<void()> change, CreateRequest request = {}) {
    world_.host(0).hold("create");
    const auto blocking = world_.begin(world_.engine().create({}, {.driver = "first"}, {}));
    const auto waiting = world_.begin(world_.engine().create({}, std::move(request), {}));
    EXPECT_FALSE(waiting.done());
    EXPECT_EQ(judge_->asked.size(), 2U);
    change();
    EXPECT_TRUE(world_.run(world_.engine().probe_drivers()));
    world_.host(0).release("create");
    world_.settle();
    return waiting.get();
  }

  std::shared_ptr<SlowJudge> judge_ = std::make_shared<SlowJudge>();
};

TEST_F(JudgedTest, OneThatTheJudgeDidNotSeeMakesNothing) {
  world_.host(1).down();
  world_.start();

  const auto refused = create_while([&] {
    world_.host(0).down();
    world_.host(1).up();
  });

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable) << "asked again it is asked about";
  EXPECT_THAT(refused.error().hint(), HasSubstr("second was not among the drivers that the policy "
                                                "server was asked about"));
  EXPECT_THAT(world_.host(1).ids(), IsEmpty());
  EXPECT_EQ(world_.create()->driver, "second");
  EXPECT_THAT(judge_->asked.back(), HasSubstr(R"("name":"second")"));
}

TEST_F(JudgedTest, OneThatItSawMayMakeIt) {
  world_.start();

  EXPECT_EQ(create_while([&] { world_.host(0).down(); })->driver, "second");
}

TEST_F(JudgedTest, OneThatIsWeakerThanItSawMakesNothing) {
  world_.start();

  const auto made =
      create_while([&] { world_.host(0).capabilities.isolation = Isolation::container; });

  EXPECT_EQ(made->driver, "second");
}

TEST_F(JudgedTest, WhoeverNamesItIsToldToTryAgain) {
  world_.start();

  const auto refused = create_while(
      [&] { world_.host(1).capabilities.isolation = Isolation::container; }, {.driver = "second"});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("second has changed since"));
}

}  // namespace
}  // namespace atl
