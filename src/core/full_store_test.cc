// What the engine promises when the store cannot write: no lie, no leftover, and everything works
// again afterwards.
#include "core/engine_world_internal.h"

namespace atl {
namespace {

using ::testing::IsEmpty;

class FullStoreTest : public ::testing::Test {
 protected:
  FullStoreTest() {
    world_.add();
    world_.wrap_store = [this](std::unique_ptr<store::Store> inner) {
      return std::make_unique<FullStore>(std::move(inner), world_.loop().get_executor(), accepts_);
    };
    world_.start();
  }
  std::optional<store::SandboxRow> stored(std::string id) {
    return world_.run(world_.store().find_sandbox(std::move(id))).value();
  }

  int accepts_ = FullStore::kPlenty;
  EngineWorld world_;
};

TEST_F(FullStoreTest, WithoutAnIntentNothingIsMade) {
  accepts_ = 0;

  const auto view = world_.create();

  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Code::out_of_space);
  EXPECT_EQ(view.error().stage(), "intent");
  EXPECT_EQ(world_.host().count("create"), 0U);
  accepts_ = FullStore::kPlenty;
  EXPECT_TRUE(world_.create());
}

TEST_F(FullStoreTest, WhatCannotBeCommittedIsUndone) {
  accepts_ = 1;
  CreateRequest request;
  request.name = "web";

  const auto view = world_.create(std::move(request));

  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Code::out_of_space);
  EXPECT_EQ(view.error().stage(), "commit");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  accepts_ = FullStore::kPlenty;
  world_.settle();
  world_.sweep();
  EXPECT_EQ(world_.create_named("web").substr(0, 3), "sbx") << "the name is free in the store too";
}

TEST_F(FullStoreTest, ARunningSandboxIsNotDisturbed) {
  const auto id = world_.create()->id;
  accepts_ = 0;

  EXPECT_EQ(world_.exec(id, {"echo", "hi"}), "hi\n");
  EXPECT_EQ(world_.run(world_.engine().stop({}, id)).error().code(), Code::out_of_space);

  EXPECT_EQ(world_.state_of(id), State::running);
  EXPECT_TRUE(world_.host().is_running(id));
}

TEST_F(FullStoreTest, DestructionWorksAllTheSameAndIsWrittenLater) {
  const auto id = world_.create()->id;
  accepts_ = 0;

  EXPECT_TRUE(world_.run(world_.engine().destroy({}, id)));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(stored(id)->state, "running");
  world_.settle();
  accepts_ = FullStore::kPlenty;
  world_.sweep();

  EXPECT_EQ(stored(id)->state, "destroyed");
}

}  // namespace
}  // namespace atl
