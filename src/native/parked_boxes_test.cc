#include "native/parked_boxes.h"

#include <gtest/gtest.h>

#include <set>

#include <boost/asio/io_context.hpp>

#include "base/fake_clock.h"
#include "base/run_task.h"
#include "driver/fake_driver.h"

namespace atl::native {
namespace {

class ParkedBoxesTest : public testing::Test {
 protected:
  ParkedBoxesTest() { make(ParkedBoxes::kMostOfAKind); }

  void make(size_t most) {
    parked_ = ParkedBoxes::create(loop_.get_executor(), clock_, most,
                                  [this](std::string id, BoxRequest request) {
                                    return make_box(std::move(id), std::move(request));
                                  });
  }

  Task<std::unique_ptr<Sandbox>> make_box(std::string id, BoxRequest request) {
    ++tries_;
    if (request.memory_bytes == 1) co_return Error(Code::invalid_argument, "too little memory");
    if (is_broken_) co_return Error(Code::unavailable, "out of order");
    SandboxSpec spec;
    spec.id = std::move(id);
    co_return co_await driver_->create(std::move(spec));
  }

  void settle() {
    loop_.restart();
    loop_.run();
  }
  void trim() {
    ASSERT_TRUE(run_task(loop_, parked_->trim()));
    settle();
  }
  // A create from the beginning to the end; says whether one was ready.
  bool create(const BoxRequest& request) {
    const std::string id = parked_->reserve(request);
    const bool was_ready = !id.empty() && parked_->take(id) != nullptr;
    parked_->refill();
    return was_ready;
  }
  size_t on_the_host() { return run_task(loop_, driver_->list()).value().size(); }

  asio::io_context loop_;
  FakeClock clock_;
  std::shared_ptr<FakeHost> host_ = FakeHost::make();
  std::unique_ptr<Driver> driver_ = make_fake_driver(host_);
  bool is_broken_ = false;
  int tries_ = 0;
  std::shared_ptr<ParkedBoxes> parked_;
};

BoxRequest small() {
  BoxRequest request;
  request.memory_bytes = 64 << 20;
  return request;
}

TEST_F(ParkedBoxesTest, AreThereBeforeTheFirstIsAskedFor) {
  parked_->expect({});
  settle();

  EXPECT_EQ(parked_->counts().parked, ParkedBoxes::kFirst);
  EXPECT_TRUE(create({}));
}

TEST_F(ParkedBoxesTest, AreMadeAgainOnceOneIsTaken) {
  parked_->expect({});
  settle();

  const std::string id = parked_->reserve({});
  settle();
  EXPECT_EQ(on_the_host(), ParkedBoxes::kFirst) << "not while somebody waits";
  EXPECT_NE(parked_->take(id), nullptr);
  parked_->refill();
  settle();

  EXPECT_EQ(on_the_host(), ParkedBoxes::kFirst + 1);
}

TEST_F(ParkedBoxesTest, NobodyGetsTheSameTwice) {
  parked_->expect({});
  settle();
  std::set<std::string> ids;

  for (int i = 0; i < 20; ++i) {
    const std::string id = parked_->reserve({});
    EXPECT_TRUE(parked_->owns(id));
    EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_NE(parked_->take(id), nullptr);
    EXPECT_FALSE(parked_->owns(id));
    EXPECT_EQ(parked_->take(id), nullptr);
    parked_->refill();
    settle();
  }
}

TEST_F(ParkedBoxesTest, AnotherKindHasAnotherShelf) {
  parked_->expect({});
  settle();

  EXPECT_FALSE(create(small()));
  settle();
  EXPECT_TRUE(create(small()));
}

TEST_F(ParkedBoxesTest, WhereCreatesLeaveNoPauseTwoAreMadeAtOnce) {
  host_->hold("create");
  parked_->reserve({});
  parked_->refill();
  loop_.poll();
  EXPECT_EQ(tries_, 2);
  host_->release("create");
  settle();

  EXPECT_EQ(parked_->counts().parked, 2 * ParkedBoxes::kFirst) << "whoever found none wants more";
}

TEST_F(ParkedBoxesTest, InAPauseTheyAreMadeOneByOne) {
  host_->hold("create");
  parked_->expect({});
  loop_.poll();

  EXPECT_EQ(tries_, 1);
  host_->release("create");
  settle();
}

TEST_F(ParkedBoxesTest, OneKindTooManyHasThePlaceOfTheOneThatIsNotAskedFor) {
  const auto kind = [](size_t number) {
    BoxRequest request;
    request.memory_bytes = (number + 1) << 26;
    return request;
  };
  for (size_t i = 0; i < ParkedBoxes::kMostKinds; ++i) {
    clock_.advance(Millis(1));
    create(kind(i));
    settle();
  }

  create(kind(ParkedBoxes::kMostKinds));
  settle();
  EXPECT_FALSE(create(kind(ParkedBoxes::kMostKinds))) << "all others were just asked for";
  clock_.advance(ParkedBoxes::kStale);
  create(kind(ParkedBoxes::kMostKinds));
  settle();
  EXPECT_TRUE(create(kind(ParkedBoxes::kMostKinds)));
  EXPECT_FALSE(create(kind(0)));
  settle();
  trim();

  EXPECT_EQ(on_the_host(), parked_->counts().parked + 1) << "the other one was taken";
}

TEST_F(ParkedBoxesTest, WhatShowsDirectoriesIsNeverParked) {
  BoxRequest request;
  request.directories.push_back({"/data", ShownAs::ro});
  BoxRequest dedicated;
  dedicated.dedicated_cpus = 1;

  EXPECT_FALSE(create(request));
  EXPECT_FALSE(create(dedicated));
  settle();
  EXPECT_EQ(on_the_host(), 0u);
}

TEST_F(ParkedBoxesTest, AShelfThatRunsEmptyGrows) {
  for (int i = 0; i < 20; ++i) create({});
  settle();

  EXPECT_EQ(parked_->counts().parked, ParkedBoxes::kMostOfAKind);
  EXPECT_EQ(parked_->counts().misses, 20u);
}

TEST_F(ParkedBoxesTest, AShelfOfWhichMoreThanHalfIsTakenAtAStretchGrowsInThePause) {
  parked_->expect({});
  settle();

  for (int i = 0; i < 2; ++i) EXPECT_TRUE(create({}));
  settle();
  EXPECT_EQ(parked_->counts().parked, ParkedBoxes::kFirst) << "half of it is no reason";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(create({}));
  const int tries = tries_;
  settle();

  EXPECT_GT(tries_, tries);
  EXPECT_EQ(parked_->counts().parked, 2 * ParkedBoxes::kFirst);
  EXPECT_EQ(parked_->counts().misses, 0u);
}

TEST_F(ParkedBoxesTest, ThoseWithAKernelOfTheirOwnAreFewAndWaitForAPause) {
  BoxRequest sentry;
  sentry.sentry = true;

  for (int i = 0; i < 20; ++i) create(sentry);
  EXPECT_EQ(tries_, 0) << "in the way of creates";
  settle();

  EXPECT_EQ(parked_->counts().parked, ParkedBoxes::kMostSentry);
  EXPECT_TRUE(create(sentry));
}

TEST_F(ParkedBoxesTest, AShelfThatNobodyTakesFromShrinksAndGoes) {
  for (int i = 0; i < 20; ++i) create({});
  settle();

  for (int i = 0; i < 10; ++i) {
    clock_.advance(ParkedBoxes::kUnused + Millis(1));
    trim();
  }

  EXPECT_EQ(parked_->counts().parked, 0u);
  EXPECT_EQ(on_the_host(), 0u);
}

TEST_F(ParkedBoxesTest, WhatWasReservedAndNotTakenGoes) {
  parked_->expect({});
  settle();
  const std::string id = parked_->reserve({});

  clock_.advance(ParkedBoxes::kReserved + Millis(1));
  trim();

  EXPECT_EQ(parked_->take(id), nullptr);
  EXPECT_FALSE(parked_->owns(id));
}

TEST_F(ParkedBoxesTest, OneThatHasEndedIsNotHandedOut) {
  parked_->expect({});
  settle();
  const std::string id = parked_->reserve({});

  parked_->forget(id);

  EXPECT_EQ(parked_->take(id), nullptr);
}

TEST_F(ParkedBoxesTest, AFailureIsNotRepeatedAtOnce) {
  is_broken_ = true;
  parked_->expect({});
  settle();
  is_broken_ = false;

  parked_->refill();
  settle();
  EXPECT_EQ(parked_->counts().parked, 0u);
  clock_.advance(std::chrono::seconds(6));
  parked_->refill();
  settle();
  EXPECT_EQ(parked_->counts().parked, ParkedBoxes::kFirst);
}

TEST_F(ParkedBoxesTest, AKindThatNobodyCanHaveIsNotTriedAgainAndHoldsUpNoOther) {
  BoxRequest tiny;
  tiny.memory_bytes = 1;

  EXPECT_FALSE(create(tiny));
  settle();
  const int first_tries = tries_;
  EXPECT_LE(first_tries, 2) << "as many as are made at once";
  clock_.advance(std::chrono::seconds(10));
  parked_->refill();
  settle();

  EXPECT_EQ(tries_, first_tries);
  parked_->expect({});
  settle();
  EXPECT_EQ(parked_->counts().parked, ParkedBoxes::kFirst);
}

TEST_F(ParkedBoxesTest, NoneMeansNone) {
  make(0);
  parked_->expect({});

  EXPECT_FALSE(create({}));
  settle();

  EXPECT_EQ(on_the_host(), 0u);
}

}  // namespace
}  // namespace atl::native
