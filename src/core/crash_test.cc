// The crash sweep: the daemon dies at every single step of every operation, and a new one takes
// over.
//
// All that an operation does to the world goes through the store and the driver, so a death before
// and after each of their calls is every death that there is. A second round also loses what was
// handed to the store but not awaited.
#include "core/engine_world_internal.h"
#include "core/event_log.h"
#include "json/describe.h"

namespace atl {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Counts steps; at the chosen one the daemon stops for ever.
struct Fate {
  Task<> step(std::string) {
    if (++passed != dies_at) co_return Result<>();
    died = true;
    const auto executor = co_await asio::this_coro::executor;
    Event never(executor);
    co_return co_await never.wait();
  }

  int dies_at = 0;  // zero = lives
  int passed = 0;
  bool died = false;
};

enum class Unawaited : uint8_t { arrives, is_lost };

// A store that dies with the daemon. What is only enqueued reaches the inner store together with
// the next commit, or never.
class MortalStore final : public store::Store {
 public:
  MortalStore(std::unique_ptr<store::Store> inner, Fate& fate, Unawaited unawaited)
      : inner_(std::move(inner)), fate_(fate), unawaited_(unawaited) {}
  ~MortalStore() override {
    if (unawaited_ == Unawaited::arrives) pass_on();
  }

  Task<store::Contents> load() override { return inner_->load(); }
  Task<std::optional<store::SandboxRow>> find_sandbox(std::string id) override {
    pass_on();
    return inner_->find_sandbox(std::move(id));
  }
  Task<> commit(store::Transaction transaction) override {
    CO_TRY_OK(co_await fate_.step("commit before"));
    pass_on();
    CO_TRY_OK(co_await inner_->commit(std::move(transaction)));
    CO_TRY_OK(co_await fate_.step("commit after"));
    co_return Result<>();
  }
  void enqueue(store::Transaction transaction, store::OnCommitted on_done) override {
    waiting_.emplace_back(std::move(transaction), std::move(on_done));
  }

 private:
  void pass_on() {
    for (auto& [transaction, on_done] : std::exchange(waiting_, {})) {
      inner_->enqueue(std::move(transaction), std::move(on_done));
    }
  }

  std::unique_ptr<store::Store> inner_;
  Fate& fate_;
  Unawaited unawaited_;
  std::vector<std::pair<store::Transaction, store::OnCommitted>> waiting_;
};

// One daemon's life over a host and a file, which ends at a step; then another one's.
class CrashWorld {
 public:
  explicit CrashWorld(Unawaited unawaited) : world(EngineWorld::Keeps::file) {
    auto& host = world.add();
    host.capabilities.pause = Pause::memory;
    host.capabilities.fork = true;
    host.capabilities.snapshot = true;
    host.capabilities.reset = true;
    world.options.pooling = Pooling::on;
    host.on_step = [this](std::string step) { return fate.step(std::move(step)); };
    world.wrap_store = [this, unawaited](std::unique_ptr<store::Store> inner) {
      return std::make_unique<MortalStore>(std::move(inner), fate, unawaited);
    };
    world.start();
  }

  // True when the operation ended, or died trying.
  template <typename T>
  bool run_until_death(Task<T> operation, int dies_at) {
    fate = {.dies_at = dies_at};
    const auto pending = world.begin(std::move(operation));
    while (!pending.done() && !fate.died) {
      world.loop().restart();
      if (world.loop().run_one_for(std::chrono::seconds(10)) == 0) return false;
    }
    return true;
  }
  void live_again() {
    world.crash();
    fate = {};
    world.start();
  }
  // What the store says of the sandboxes, and what there is, agree.
  void expect_agreement() {
    world.settle();  // what pools began
    const Caller admin{.role = Role::admin};
    const auto views = world.engine().list(admin, {.tenant = "*", .limit = 1000})->sandboxes;
    std::set<std::string> known;
    for (const auto& view : views) {
      known.insert(view.id);
      EXPECT_EQ(world.host().is_running(view.id), view.state == State::running) << view.id;
    }
    for (const auto& id : world.host().remains) EXPECT_TRUE(known.contains(id)) << id;
    for (const auto& id : world.host().ids()) EXPECT_TRUE(known.contains(id)) << "orphan " << id;
    std::set<std::string> kept;
    for (const auto& view : world.engine().list_snapshots({}, "")) {
      kept.insert(view.id);
      EXPECT_EQ(view.state, SnapshotState::ready);
      EXPECT_TRUE(world.host().snapshots.contains(view.id)) << "lost " << view.id;
    }
    for (const auto& [id, files] : world.host().snapshots)
      EXPECT_TRUE(kept.contains(id)) << "orphan " << id;
    const auto contents = world.run(world.store().load()).value();
    EXPECT_THAT(contents.pending, IsEmpty()) << "an intent is still open";
  }

  Fate fate;
  EngineWorld world;
};

// Lets `operation` die at its first step, its second, and so on, until it gets through; it has at
// least so many, the one that it gets through included.
template <typename Prepare, typename Operation, typename Check>
void sweep_crashes(Prepare prepare, Operation operation, Check check, int least_steps = 4) {
  for (const auto unawaited : {Unawaited::arrives, Unawaited::is_lost}) {
    for (int step = 1;; ++step) {
      SCOPED_TRACE("death at step " + std::to_string(step) +
                   (unawaited == Unawaited::is_lost ? ", unawaited writes lost" : ""));
      CrashWorld mortal(unawaited);
      const std::string id = prepare(mortal.world);
      ASSERT_TRUE(mortal.run_until_death(operation(mortal.world, id), step));
      const bool died = mortal.fate.died;
      mortal.live_again();
      check(mortal.world, id);
      // What recovery wrote without waiting for it is read by the next life.
      static_cast<void>(mortal.world.run(mortal.world.store().find_sandbox(id)));
      mortal.expect_agreement();
      if (::testing::Test::HasFailure()) return;
      if (!died) {
        EXPECT_GE(step, least_steps) << "the sweep saw hardly any step";
        break;
      }
    }
  }
}

std::string nothing(EngineWorld&) { return ""; }
std::string a_running_one(EngineWorld& world) { return world.create_named("web"); }
std::string a_stopped_one(EngineWorld& world) {
  const auto id = world.create_named("web");
  EXPECT_TRUE(world.run(world.engine().stop({}, id)));
  return id;
}

TEST(Crash, DuringCreateTheSandboxIsAbsentOrRunning) {
  sweep_crashes(
      nothing,
      [](EngineWorld& world, std::string) {
        CreateRequest request;
        request.name = "web";
        return world.engine().create({}, std::move(request), Idempotency{"k", "h"});
      },
      [](EngineWorld& world, std::string) {
        const auto view = world.engine().get({}, "web");
        if (view) EXPECT_EQ(view->state, State::running);
        // Whoever retries gets one sandbox in the end.
        CreateRequest request;
        request.name = "web";
        EXPECT_TRUE(world.create(std::move(request)));
        EXPECT_THAT(world.host().ids(), SizeIs(1));
      });
}

// With one sandbox parked, whose id this is.
std::string a_pool(EngineWorld& world) {
  EXPECT_TRUE(world.run(world.engine().create_pool("p", {.size = {.min = 1}})));
  world.settle();
  EXPECT_THAT(world.host().ids(), SizeIs(1));
  return world.host().ids().front();
}

// Whatever the daemon dies of, what was parked is handed out once or never.
TEST(Crash, DuringAHandOverTheSandboxIsGoneOrItsOwners) {
  sweep_crashes(
      a_pool,
      [](EngineWorld& world, std::string) {
        CreateRequest request;
        request.name = "web";
        request.files.push_back({"mine", "1"});
        return world.engine().create({}, std::move(request), Idempotency{"k", "h"});
      },
      [](EngineWorld& world, std::string id) {
        world.settle();
        const auto view = world.engine().get({}, "web");
        if (view) {
          EXPECT_EQ(view->id, id);
          EXPECT_EQ(view->state, State::running);
          EXPECT_TRUE(world.host().boxes.at(id)->files.contains("/workspace/mine"));
        } else {
          EXPECT_FALSE(world.host().has(id)) << "somebody may have been in it";
        }
        const auto next = world.create().value();
        EXPECT_NE(next.id, id);
        EXPECT_FALSE(world.host().boxes.at(next.id)->files.contains("/workspace/mine"));
      });
}

TEST(Crash, DuringAnOrderlyEndWhatIsParkedIsParkedAgainOrGone) {
  sweep_crashes(
      a_pool,
      [](EngineWorld& world, std::string) {
        return world.engine().shut_down(Ending::leave_sandboxes);
      },
      [](EngineWorld& world, std::string id) {
        world.settle();
        EXPECT_EQ(world.engine().get_pool("p")->ready, 1U);
        EXPECT_THAT(world.host().ids(), SizeIs(1));
        const auto first = world.create().value();
        EXPECT_EQ(world.host().has(id), first.id == id);
        EXPECT_NE(world.create()->id, first.id);
      },
      2);
}

TEST(Crash, DuringDestroyTheSandboxIsRunningOrGone) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) { return world.engine().destroy({}, id); },
      [](EngineWorld& world, std::string id) {
        const auto view = world.engine().get({}, id);
        if (view) {
          EXPECT_EQ(view->state, State::running);
        } else {
          EXPECT_THAT(world.host().ids(), IsEmpty());
        }
      });
}

// There is the sandbox, or a whole checkpoint of it, and the next of its name has its files.
TEST(Crash, DuringAnEndThatIsKeptNothingIsLost) {
  const auto kept = [] {
    CreateRequest request;
    request.name = "web";
    request.persistence = Persistence::checkpoint;
    return request;
  };
  for (const State begins : {State::running, State::paused, State::stopped}) {
    SCOPED_TRACE(json::name_of(begins));
    sweep_crashes(
        [&](EngineWorld& world) {
          const auto id = world.create(kept()).value().id;
          world.host().boxes.at(id)->files["/workspace/f"] = {.bytes = "mine"};
          if (begins == State::paused) EXPECT_TRUE(world.run(world.engine().pause({}, id)));
          if (begins == State::stopped) EXPECT_TRUE(world.run(world.engine().stop({}, id)));
          return id;
        },
        [](EngineWorld& world, std::string id) { return world.engine().destroy({}, id); },
        [&](EngineWorld& world, std::string id) {
          if (world.engine().get({}, id)) {
            EXPECT_EQ(world.host().boxes.at(id)->files.at("/workspace/f").bytes, "mine");
            EXPECT_TRUE(world.run(world.engine().destroy({}, id)));
          }
          EXPECT_FALSE(world.host().has(id));
          const auto next = world.create(kept());
          ASSERT_TRUE(next) << next.error().message();
          EXPECT_EQ(world.exec(next->id, {"cat", "f"}), "mine");
        });
  }
}

TEST(Crash, DuringStopTheSandboxIsRunningOrStopped) {
  sweep_crashes(
      a_running_one, [](EngineWorld& world, std::string id) { return world.engine().stop({}, id); },
      [](EngineWorld& world, std::string id) {
        const State state = world.state_of(id);
        EXPECT_TRUE(state == State::running || state == State::stopped);
      });
}

TEST(Crash, DuringStartTheSandboxIsStoppedOrRunning) {
  sweep_crashes(
      a_stopped_one,
      [](EngineWorld& world, std::string id) { return world.engine().start({}, id); },
      [](EngineWorld& world, std::string id) {
        const State state = world.state_of(id);
        EXPECT_TRUE(state == State::running || state == State::stopped);
      });
}

TEST(Crash, DuringRecreateTheSandboxRunsInTheEnd) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) { return world.engine().recreate({}, id); },
      [](EngineWorld& world, std::string id) { EXPECT_EQ(world.state_of(id), State::running); });
}

TEST(Crash, DuringRenewTheDriverAndTheStoreAgreeOnTheDeadline) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) {
        return world.engine().renew({}, id, std::chrono::seconds(7200));
      },
      [](EngineWorld& world, std::string id) {
        const auto left = *world.engine().get({}, id)->expires_at - world.clock.wall();
        EXPECT_EQ(world.host().boxes.at(id)->spec.expires_at, world.clock.boot() + Micros(left));
      });
}

TEST(Crash, DuringPauseTheSandboxRunsOrIsPaused) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) { return world.engine().pause({}, id); },
      [](EngineWorld& world, std::string id) {
        const bool paused = world.host().boxes.at(id)->paused;
        EXPECT_EQ(world.state_of(id), paused ? State::paused : State::running);
        if (paused) EXPECT_TRUE(world.run(world.engine().resume({}, id)));
      });
}

// Until what the reaper does is over, which is nobody's call.
Task<> reap_and_wait(EngineWorld& world, std::string id, State until) {
  CO_TRY_OK(co_await world.engine().reap());
  while (world.engine().get({}, id)->state != until) {
    EventLog& log = world.engine().events();
    CO_TRY_OK(co_await log.wait_beyond(log.last(), std::chrono::seconds(10)));
  }
  // It is refused when its turn has come, and by then the reaper's is over.
  const auto refused = co_await world.engine().resize({}, id, {.pids = 1});
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  co_return Result<>();
}

std::string a_resting_one(EngineWorld& world, OnEnd on_idle, OnEnd on_expire) {
  CreateRequest request;
  request.name = "web";
  request.ttl = std::chrono::seconds(60);
  request.idle = std::chrono::seconds(5);
  request.on_idle = on_idle;
  request.on_expire = on_expire;
  return world.create(std::move(request)).value().id;
}

void expect_usable(EngineWorld& world, const std::string& id) {
  const auto used = world.run(world.engine().use({}, id));
  ASSERT_TRUE(used) << used.error().message();
  EXPECT_EQ(world.state_of(id), State::running);
  EXPECT_FALSE(world.host().boxes.at(id)->paused);
  const auto left = *world.engine().get({}, id)->kept_until - world.clock.wall();
  EXPECT_EQ(world.host().boxes.at(id)->spec.expires_at, world.clock.boot() + Micros(left))
      << "the driver and the store agree on its last moment";
}

TEST(Crash, DuringAnIdlePauseItsNextUseFindsItRunning) {
  sweep_crashes(
      [](EngineWorld& world) {
        const auto id = a_resting_one(world, OnEnd::pause, OnEnd::pause);
        world.advance(std::chrono::seconds(5));
        return id;
      },
      [](EngineWorld& world, std::string id) { return reap_and_wait(world, id, State::paused); },
      [](EngineWorld& world, std::string id) { expect_usable(world, id); });
}

TEST(Crash, DuringAStopAtItsEndItsNextUseFindsItRunning) {
  sweep_crashes(
      [](EngineWorld& world) {
        const auto id = a_resting_one(world, OnEnd::pause, OnEnd::stop);
        world.advance(std::chrono::seconds(60));
        return id;
      },
      [](EngineWorld& world, std::string id) { return reap_and_wait(world, id, State::stopped); },
      [](EngineWorld& world, std::string id) { expect_usable(world, id); });
}

TEST(Crash, DuringAWakingAfterItsEndItsNextUseFindsItRunning) {
  for (const OnEnd end : {OnEnd::pause, OnEnd::stop}) {
    sweep_crashes(
        [end](EngineWorld& world) {
          const auto id = a_resting_one(world, end, end);
          world.advance(std::chrono::seconds(60));
          const State rests = end == OnEnd::pause ? State::paused : State::stopped;
          EXPECT_TRUE(world.run(reap_and_wait(world, id, rests)));
          return id;
        },
        [](EngineWorld& world, std::string id) { return world.engine().use({}, id); },
        [](EngineWorld& world, std::string id) { expect_usable(world, id); });
  }
}

TEST(Crash, DuringARevivalItRunsInTheEnd) {
  sweep_crashes(
      [](EngineWorld& world) {
        CreateRequest request;
        request.name = "web";
        request.on_failure = OnFailure::recreate;
        const auto id = world.create(std::move(request)).value().id;
        world.host().end(id, EndedBy::death);
        world.advance(std::chrono::seconds(1));
        return id;
      },
      [](EngineWorld& world, std::string id) { return reap_and_wait(world, id, State::running); },
      [](EngineWorld& world, std::string id) {
        world.advance(std::chrono::seconds(300));
        EXPECT_TRUE(world.run(reap_and_wait(world, id, State::running)));
        EXPECT_THAT(world.host().ids(), SizeIs(1));
      });
}

TEST(Crash, WhileASessionOpensItHoldsItsSandboxOrNothingIsLeft) {
  sweep_crashes(
      nothing,
      [](EngineWorld& world, std::string) {
        return world.engine().open_session({}, {.scope = SessionScope::workspace, .key = "web"},
                                           {});
      },
      [](EngineWorld& world, std::string) {
        EXPECT_EQ(world.engine().list_sessions({}).size(), world.host().ids().size());
        // Whoever tries again gets one, and nobody else holds it but a first try that was written.
        const auto again = world.run(
            world.engine().open_session({}, {.scope = SessionScope::workspace, .key = "web"}, {}));
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(again->holders, world.engine().list_sessions({}).size());
        EXPECT_THAT(world.host().ids(), SizeIs(1));
      });
}

TEST(Crash, WhileTheLastSessionClosesItHoldsItsSandboxOrNothingIsLeft) {
  sweep_crashes(
      [](EngineWorld& world) {
        return world
            .run(world.engine().open_session({}, {.scope = SessionScope::workspace, .key = "web"},
                                             {}))
            .value()
            .id;
      },
      [](EngineWorld& world, std::string id) { return world.engine().close_session({}, id); },
      [](EngineWorld& world, std::string) {
        EXPECT_EQ(world.engine().list_sessions({}).size(), world.host().ids().size());
      });
}

TEST(Crash, DuringForkEachChildIsAbsentOrRunning) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) { return world.engine().fork({}, id, 2); },
      [](EngineWorld& world, std::string id) { EXPECT_EQ(world.state_of(id), State::running); });
}

TEST(Crash, DuringASnapshotItIsThereOrNothingIs) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) {
        return world.engine().snapshot({}, id, {.name = "kept"});
      },
      [](EngineWorld& world, std::string id) {
        EXPECT_EQ(world.state_of(id), State::running);
        EXPECT_EQ(world.engine().list_snapshots({}, id).size(), world.host().snapshots.size());
      });
}

TEST(Crash, DuringTheEndOfASnapshotItIsThereOrNothingIs) {
  sweep_crashes(
      [](EngineWorld& world) {
        const auto id = a_running_one(world);
        EXPECT_TRUE(world.run(world.engine().snapshot({}, id, {.name = "kept"})));
        return id;
      },
      [](EngineWorld& world, std::string) { return world.engine().drop_snapshot({}, "kept"); },
      [](EngineWorld& world, std::string id) {
        EXPECT_EQ(world.engine().list_snapshots({}, id).size(), world.host().snapshots.size());
      });
}

TEST(Crash, WhileAPausedOneIsStoppedItIsStoppedOrRuns) {
  sweep_crashes(
      [](EngineWorld& world) {
        const auto id = a_running_one(world);
        EXPECT_TRUE(world.run(world.engine().pause({}, id)));
        return id;
      },
      [](EngineWorld& world, std::string id) { return world.engine().stop({}, id); },
      [](EngineWorld& world, std::string id) {
        // What is told is true: one that is not paused is not frozen.
        EXPECT_EQ(world.host().boxes.at(id)->paused, world.state_of(id) == State::paused);
        const auto stopped = world.run(world.engine().stop({}, id));
        EXPECT_TRUE(stopped && stopped->state == State::stopped);
      });
}

TEST(Crash, DuringAResetNobodyGetsWhatWasThere) {
  sweep_crashes(
      [](EngineWorld& world) {
        const auto id = a_running_one(world);
        world.host().boxes.at(id)->files["/workspace/secret"] = {.bytes = "of the former user"};
        return id;
      },
      [](EngineWorld& world, std::string id) { return world.engine().reset({}, id, {}); },
      [](EngineWorld& world, std::string id) {
        const State state = world.state_of(id);
        const bool has_secret =
            world.host().has(id) && world.host().boxes.at(id)->files.contains("/workspace/secret");
        // Before the reset was journalled it did not begin.
        const bool did_not_begin = world.engine().get({}, id)->resets == 0 && has_secret;
        EXPECT_TRUE(state == State::failed || (state == State::running && !has_secret) ||
                    (state == State::running && did_not_begin));
        EXPECT_TRUE(world.run(world.engine().reset({}, id, {})));
        EXPECT_FALSE(world.host().boxes.at(id)->files.contains("/workspace/secret"));
      });
}

TEST(Crash, DuringARunNothingIsLeft) {
  sweep_crashes(
      nothing,
      [](EngineWorld& world, std::string) {
        ExecRequest exec;
        exec.argv = {"true"};
        return world.engine().run({}, {}, std::move(exec), "", 100);
      },
      [](EngineWorld& world, std::string) {
        EXPECT_THAT(world.host().ids(), IsEmpty());
        EXPECT_THAT(world.engine().list({}, {})->sandboxes, IsEmpty());
      },
      3);
}

}  // namespace
}  // namespace atl
