// Lies that tests/simulation has found, one by one: each was told before it was mended.
#include "core/engine_world_internal.h"
#include "core/sessions.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Over another store: what nobody waits for is not written any more once `is_killed` says that the
// daemon does not live so long. While there is `slow`, whoever waits for a write waits for that,
// too.
class HastyStore final : public store::Store {
 public:
  HastyStore(std::unique_ptr<store::Store> inner, bool& is_killed, std::shared_ptr<Event>& slow)
      : inner_(std::move(inner)), is_killed_(is_killed), slow_(slow) {}

  Task<store::Contents> load() override { return inner_->load(); }
  Task<std::optional<store::SandboxRow>> find_sandbox(std::string id) override {
    return inner_->find_sandbox(std::move(id));
  }
  Task<> commit(store::Transaction transaction) override {
    if (const auto slow = slow_) CO_TRY_OK(co_await slow->wait());
    co_return co_await inner_->commit(std::move(transaction));
  }
  void enqueue(store::Transaction transaction, store::OnCommitted on_done) override {
    if (!is_killed_) inner_->enqueue(std::move(transaction), std::move(on_done));
  }

 private:
  std::unique_ptr<store::Store> inner_;
  bool& is_killed_;
  std::shared_ptr<Event>& slow_;
};

// Over a file, so that a new daemon finds what the one before has written, and over a disk that is
// full while `accepts_` is zero.
class FoundBySimulationTest : public ::testing::Test {
 protected:
  FoundBySimulationTest() : world_(EngineWorld::Keeps::file) {
    auto& host = world_.add();
    host.capabilities.pause = Pause::memory;
    host.capabilities.fork = true;
    world_.wrap_store = [this](std::unique_ptr<store::Store> inner) {
      auto full =
          std::make_unique<FullStore>(std::move(inner), world_.loop().get_executor(), accepts_);
      return std::make_unique<HastyStore>(std::move(full), is_killed_early_, slow_disk_);
    };
    world_.start();
  }
  store::Contents stored() { return world_.run(world_.store().load()).value(); }
  CreateRequest named(std::string name) {
    CreateRequest request;
    request.name = std::move(name);
    return request;
  }

  void host_loses_answers_to(const std::string& call) {
    world_.host().on_step = [lost = call + " after"](std::string step) -> Task<> {
      return [](bool fails) -> Task<> {
        if (fails) co_return Error(Code::unavailable, "the answer is lost");
        co_return Result<>();
      }(step == lost);
    };
  }

  // Made by the second host, after the answer of the first, which has made it too, was lost.
  std::string create_on_second_host() {
    world_.add("second");
    world_.restart();
    host_loses_answers_to("create");
    const auto view = world_.create();
    EXPECT_EQ(view->driver, "second");
    EXPECT_TRUE(world_.host(0).has(view->id)) << "nothing was left there";
    return view->id;
  }

  // The disk has room again, and what could not be written is; nothing later is.
  Task<> sweep_and_be_killed_if(bool is_time) {
    if (!is_time) co_return Result<>();
    accepts_ = FullStore::kPlenty;
    CO_TRY_OK(co_await world_.engine().sweep());
    CO_TRY_OK(co_await world_.store().commit({}));
    is_killed_early_ = true;
    co_return Result<>();
  }

  void wait_for_call(std::string call) {
    world_.wait_until([&] { return world_.host().count(call) > 0; });
  }

  int accepts_ = FullStore::kPlenty;
  std::shared_ptr<Event> slow_disk_;
  bool is_killed_early_ = false;
  EngineWorld world_;
};

TEST_F(FoundBySimulationTest, AKeyStaysWithTheSandboxThatItFoundByName) {
  const auto id = world_.create_named("web");
  const Idempotency key{"k", "h"};
  ASSERT_EQ(world_.create(named("web"), key)->id, id);
  ASSERT_TRUE(world_.run(world_.engine().destroy({}, id)));
  world_.restart();

  const auto again = world_.create(named("web"), key);

  ASSERT_FALSE(again) << "the key has made two sandboxes";
  EXPECT_EQ(again.error().code(), Code::conflict);
}

TEST_F(FoundBySimulationTest, AKeyThatCannotBeWrittenIsNotPromised) {
  world_.create_named("web");
  accepts_ = 0;
  EXPECT_EQ(world_.create(named("web"), Idempotency{"k", "h"}).error().code(), Code::out_of_space);

  accepts_ = FullStore::kPlenty;

  EXPECT_TRUE(world_.create(named("web"), Idempotency{"k", "other"})) << "the key is free";
}

TEST_F(FoundBySimulationTest, AFailureThatIsWrittenLateSparesTheKeysNextSandbox) {
  accepts_ = 1;  // the intent, and not how it went
  ASSERT_FALSE(world_.create({}, Idempotency{"k", "h"}));
  accepts_ = FullStore::kPlenty;
  const auto id = world_.create({}, Idempotency{"k", "h"})->id;

  world_.sweep();  // writes what could not be written
  world_.restart();

  EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, id);
}

TEST_F(FoundBySimulationTest, AFailureIsWrittenBeforeItsKeyMakesAnother) {
  host_loses_answers_to("create");
  is_killed_early_ = true;  // before it is written that the creation has failed
  ASSERT_FALSE(world_.create({}, Idempotency{"k", "h"}));
  world_.host().on_step = nullptr;
  const auto id = world_.create({}, Idempotency{"k", "h"})->id;

  world_.restart();

  EXPECT_THAT(world_.host().ids(), ElementsAre(id)) << "the key has made two sandboxes";
  EXPECT_EQ(world_.create({}, Idempotency{"k", "h"})->id, id);
}

TEST_F(FoundBySimulationTest, AFailureIsWrittenBeforeItsNameIsGivenToAnother) {
  host_loses_answers_to("create");
  is_killed_early_ = true;
  ASSERT_FALSE(world_.create(named("web")));
  world_.host().on_step = nullptr;
  const auto made = world_.create(named("web"));
  ASSERT_TRUE(made) << made.error().message();

  world_.restart();

  EXPECT_THAT(world_.host().ids(), ElementsAre(made->id)) << "two are called web";
}

TEST_F(FoundBySimulationTest, AKeyMakesNoOtherWhileItsFailureCannotBeWritten) {
  host_loses_answers_to("create");
  is_killed_early_ = true;
  ASSERT_FALSE(world_.create({}, Idempotency{"k", "h"}));
  world_.host().on_step = nullptr;
  accepts_ = 0;
  EXPECT_EQ(world_.create({}, Idempotency{"k", "h"}).error().code(), Code::out_of_space);
  accepts_ = FullStore::kPlenty;

  const auto id = world_.create({}, Idempotency{"k", "h"})->id;
  world_.restart();

  EXPECT_THAT(world_.host().ids(), ElementsAre(id));
}

TEST_F(FoundBySimulationTest, ACreationThatIsBeingUndoneIsNotWrittenAsDone) {
  world_.host().on_step = [this](std::string step) {
    return sweep_and_be_killed_if(step == "destroy before");
  };
  accepts_ = 1;  // the intent, and not how it went

  ASSERT_FALSE(world_.create({}, Idempotency{"k", "h"}));
  world_.host().on_step = nullptr;
  is_killed_early_ = false;
  world_.crash();
  world_.start();
  world_.settle();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_THAT(world_.run(world_.store().load())->live, IsEmpty()) << "it was never made";
}

TEST_F(FoundBySimulationTest, WhatAnEarlierDaemonHadBegunIsUndoneBeforeAnythingNew) {
  const auto id = world_.create()->id;
  world_.host().hold("pause");
  const auto interrupted = world_.begin(world_.engine().pause({}, id));
  wait_for_call("pause");
  world_.crash();
  world_.host().release("pause");
  world_.host().fail("attach", Error(Code::internal, "not now"));
  world_.start();
  world_.advance(std::chrono::seconds(1));  // before that it is not asked for again

  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));
  world_.sweep();

  EXPECT_EQ(world_.state_of(id), State::paused) << "an older pause was undone";
  EXPECT_TRUE(world_.host().boxes.at(id)->paused);
}

TEST_F(FoundBySimulationTest, WhatIsToBeDestroyedIsNotTakenUpByWhoeverWaitedForItsTurn) {
  const auto id = world_.create()->id;
  world_.crash();
  world_.host().fail("attach", Error(Code::internal, "not now"));
  world_.start();
  world_.host().hold("destroy");
  const auto destruction = world_.begin(world_.engine().destroy({}, id));
  wait_for_call("destroy");
  const auto sweep = world_.begin(world_.engine().sweep());
  world_.settle();  // it comes to what was not taken up at the start, and waits
  world_.host().on_step = [](std::string step) -> Task<> {
    return [](bool fails) -> Task<> {
      if (fails) co_return Error(Code::unavailable, "nobody answers");
      co_return Result<>();
    }(step == "destroy before");
  };
  world_.host().release("destroy");
  world_.wait_until([&] { return destruction.done() && sweep.done(); });
  ASSERT_FALSE(destruction.get());

  for (const auto& event : world_.engine().events().after(0, 1000).events)
    EXPECT_NE(event->to, State::running) << "whoever is given it loses it";
  world_.host().on_step = nullptr;
  world_.sweep();
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(FoundBySimulationTest, NothingIsMadeAnewWhereItsDriverHasComeToOfferLess) {
  world_.host().capabilities.reset = true;
  world_.restart();
  const auto id = world_.create()->id;
  world_.host().capabilities.isolation = Isolation::process;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));

  const auto refused = world_.run(world_.engine().reset({}, id, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("offers process at host now"));
  EXPECT_TRUE(world_.host().is_running(id)) << "the old one was destroyed for nothing";

  world_.host().capabilities.isolation = Isolation::container;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));
  world_.host().hold("destroy");
  const auto late = world_.begin(world_.engine().reset({}, id, {}));
  wait_for_call("destroy");
  world_.host().capabilities.placement = Placement::third_party;
  ASSERT_TRUE(world_.run(world_.engine().probe_drivers()));
  world_.host().release("destroy");
  world_.wait_until([&] { return late.done(); });

  EXPECT_FALSE(late.get()) << "it is farther away than whoever has it was told";
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  EXPECT_EQ(world_.state_of(id), State::failed);
}

TEST_F(FoundBySimulationTest, WhatIsConfirmedAgainIsWritten) {
  const auto id = world_.create()->id;
  accepts_ = 1;  // the intent, and not how it went
  ASSERT_FALSE(world_.run(world_.engine().pause({}, id)));
  EXPECT_FALSE(world_.run(world_.engine().pause({}, id))) << "it would be forgotten";
  accepts_ = FullStore::kPlenty;

  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));
  world_.restart();

  EXPECT_EQ(world_.state_of(id), State::paused);
  EXPECT_THAT(stored().pending, IsEmpty());
}

TEST_F(FoundBySimulationTest, WhatIsConfirmedBeforeAFailureIsWrittenIsWritten) {
  const auto id = world_.create()->id;
  is_killed_early_ = true;  // before it is written that the stop has failed
  world_.host().fail("stop", Error(Code::unavailable, "not now"));
  ASSERT_FALSE(world_.run(world_.engine().stop({}, id)));

  ASSERT_TRUE(world_.run(world_.engine().start({}, id))) << "it runs already";
  world_.restart();

  EXPECT_EQ(world_.state_of(id), State::running);
}

TEST_F(FoundBySimulationTest, WhatTheReaperPassedOverWhileItStoppedEndsThoughTheDiskIsFull) {
  const auto id = world_.create()->id;
  world_.host().hold("stop");
  const auto stop = world_.begin(world_.engine().stop({}, id));
  wait_for_call("stop");
  world_.advance(std::chrono::hours(48));
  world_.reap();
  accepts_ = 0;
  world_.host().release("stop");
  world_.wait_until([&] { return stop.done(); });
  ASSERT_FALSE(stop.get());
  accepts_ = FullStore::kPlenty;

  world_.reap();
  world_.settle();

  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(FoundBySimulationTest, AStopThatHasFailedOnAFullDiskIsNotTakenUpOnceThereWasRoom) {
  const auto id = world_.create()->id;
  world_.host().on_step = [](std::string step) -> Task<> {
    return [](bool fails) -> Task<> {
      if (fails) co_return Error(Code::unavailable, "nobody answers");
      co_return Result<>();
    }(step == "stop before");
  };
  accepts_ = 1;  // the intent, and not how it went
  ASSERT_FALSE(world_.run(world_.engine().stop({}, id)));
  world_.settle();
  world_.host().on_step = nullptr;
  accepts_ = FullStore::kPlenty;

  ASSERT_TRUE(world_.create());
  world_.settle();
  is_killed_early_ = true;
  world_.restart();

  EXPECT_EQ(world_.state_of(id), State::running);
}

TEST_F(FoundBySimulationTest, ARenewalThatComesTooLateIsNoSuccess) {
  const auto id = world_.create()->id;
  world_.host().hold("renew");
  const auto renewal = world_.begin(world_.engine().renew({}, id, std::chrono::seconds(600)));
  wait_for_call("renew");
  world_.host().end_unheard(id);

  world_.host().release("renew");
  world_.wait_until([&] { return renewal.done(); });

  ASSERT_FALSE(renewal.get());
  EXPECT_THAT(renewal.get().error().message(), HasSubstr("has ended meanwhile"));
}

TEST_F(FoundBySimulationTest, ARenewalSavesNothingFromWhoAsksForItsEnd) {
  CreateRequest request;
  request.ttl = std::chrono::seconds(60);
  const auto id = world_.create(std::move(request))->id;
  world_.host().hold("pause");
  const auto pause = world_.begin(world_.engine().pause({}, id));
  wait_for_call("pause");
  const auto renewal = world_.begin(world_.engine().renew({}, id, std::chrono::seconds(600)));
  world_.advance(std::chrono::seconds(61));
  world_.reap();
  const auto destruction = world_.begin(world_.engine().destroy({}, id));

  world_.host().release("pause");
  world_.wait_until([&] { return renewal.done() && destruction.done(); });

  EXPECT_TRUE(destruction.get());
  EXPECT_FALSE(world_.host().has(id)) << "its end was acknowledged";
}

TEST_F(FoundBySimulationTest, WhatCouldNotBeStoppedStillEndsAtItsTime) {
  CreateRequest request;
  request.ttl = std::chrono::seconds(60);
  const auto id = world_.create(std::move(request))->id;
  accepts_ = 0;
  slow_disk_ = std::make_shared<Event>(world_.loop().get_executor());
  const auto stop = world_.begin(world_.engine().stop({}, id));
  ASSERT_FALSE(stop.done());
  world_.advance(std::chrono::seconds(61));
  world_.reap();
  std::exchange(slow_disk_, nullptr)->fire();
  world_.wait_until([&] { return stop.done(); });
  ASSERT_EQ(stop.get().error().code(), Code::out_of_space);
  accepts_ = FullStore::kPlenty;

  world_.reap();

  world_.wait_until([&] { return !world_.host().has(id); });
}

TEST_F(FoundBySimulationTest, WhatEndsOnADriverThatWasGivenUpIsNotTheSandbox) {
  const auto id = create_on_second_host();

  world_.host(0).end(id, EndedBy::expiry);
  world_.settle();

  EXPECT_EQ(world_.state_of(id), State::running);
}

TEST_F(FoundBySimulationTest, WhatEndsOnADriverThatWasGivenUpIsNotTheSandboxThatIsStopped) {
  const auto id = create_on_second_host();
  ASSERT_TRUE(world_.run(world_.engine().stop({}, id)));

  world_.host(0).end(id, EndedBy::expiry);
  world_.settle();

  EXPECT_EQ(world_.state_of(id), State::stopped);
}

TEST_F(FoundBySimulationTest, AChildWhoseTimeIsUpBeforeItIsMadeIsAForkThatFailed) {
  const auto id = world_.create()->id;
  world_.host().hold("attach");
  const auto forking = world_.begin(world_.engine().fork({}, id, 1));
  wait_for_call("attach");
  const auto ids = world_.host().ids();
  ASSERT_THAT(ids, SizeIs(2));
  world_.host().end(ids[0] == id ? ids[1] : ids[0], EndedBy::expiry);
  world_.settle();

  world_.host().release("attach");
  world_.wait_until([&] { return forking.done(); });

  EXPECT_FALSE(forking.get());
  EXPECT_THAT(world_.host().ids(), ElementsAre(id));
}

TEST_F(FoundBySimulationTest, AChildThatDiesWhileItsSiblingFailsIsDroppedToo) {
  const auto id = world_.create()->id;
  int attached = 0;
  world_.host().on_step = [&](std::string step) -> Task<> {
    return [](EngineWorld& world, std::string parent, bool is_second) -> Task<> {
      if (!is_second) co_return Result<>();
      for (const auto& child : world.host().ids()) {
        if (child != parent) world.host().end(child, EndedBy::death);
      }
      co_return Error(Code::unavailable, "lost");
    }(world_, id, step == "attach before" && ++attached == 2);
  };

  const auto forked = world_.run(world_.engine().fork({}, id, 2));

  ASSERT_FALSE(forked);
  EXPECT_THAT(world_.host().ids(), ElementsAre(id));
}

TEST_F(FoundBySimulationTest, ASessionThatIsRenewedWhileItIsClosedStaysClosed) {
  // Two hold the sandbox, so it outlives the one.
  const SessionAsk ask{.scope = SessionScope::shared};
  const auto id = world_.run(world_.engine().open_session({}, ask, std::nullopt))->id;
  ASSERT_TRUE(world_.run(world_.engine().open_session({}, ask, std::nullopt)));

  auto closing = world_.begin(world_.engine().close_session({}, id));
  auto renewing = world_.begin(world_.engine().renew_session({}, id, std::nullopt));
  world_.wait_until([&] { return closing.done() && renewing.done(); });
  world_.restart();

  EXPECT_TRUE(closing.get());
  EXPECT_THAT(world_.engine().list_sessions({}), SizeIs(1));
}

TEST_F(FoundBySimulationTest, ASessionThatIsRenewedBeforeItIsEndedGoesOn) {
  std::set<std::string> ids;
  for (int i = 0; i < 17; ++i)
    ids.insert(world_.run(world_.engine().open_session({}, {}, std::nullopt))->id);
  world_.clock.advance(kDefaultSessionLife);
  world_.host().hold("destroy");

  // Sixteen at a time, so the last one's turn comes later.
  auto ending = world_.begin(world_.engine().end_sessions());
  const auto renewed = world_.run(world_.engine().renew_session({}, *ids.rbegin(), std::nullopt));
  world_.host().release("destroy");
  world_.wait_until([&] { return ending.done(); });

  ASSERT_TRUE(renewed) << renewed.error().message();
  EXPECT_TRUE(world_.engine().get_session({}, *ids.rbegin()));
  EXPECT_FALSE(world_.engine().get_session({}, *ids.begin()));
}

TEST_F(FoundBySimulationTest, WhatWasPausedAndCouldNotBeDestroyedIsNotFoundFrozen) {
  const auto id = world_.create()->id;
  ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));
  world_.host().fail("destroy", Error(Code::internal, "not now"));
  ASSERT_FALSE(world_.run(world_.engine().destroy({}, id)));

  world_.crash();
  world_.start();

  EXPECT_EQ(world_.state_of(id), State::running);
  EXPECT_FALSE(world_.host().boxes.at(id)->paused);
}

TEST_F(FoundBySimulationTest, ASessionDoesNotHoldWhatNobodyKnowsToBeMade) {
  const SessionAsk ask{.scope = SessionScope::shared};
  CreateRequest request;
  request.on_last = OnEnd::stop;
  world_.host().hold("create");
  const auto interrupted = world_.begin(world_.engine().open_session({}, ask, std::move(request)));
  wait_for_call("create");
  world_.crash();
  world_.host().release("create");
  world_.host().fail("attach", Error(Code::unavailable, "not now"), 100);
  world_.start();

  const auto joined = world_.run(world_.engine().open_session({}, ask, std::nullopt));

  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message(), HasSubstr("was interrupted"));
}

}  // namespace
}  // namespace atl
