// The crash sweep: the daemon dies at every single step of every operation, and a new one takes
// over.
//
// All that an operation does to the world goes through the store and the driver, so a death before
// and after each of their calls is every death that there is. A second round also loses what was
// handed to the store but not awaited.
#include "core/engine_world_internal.h"

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
    const auto views = world.engine().list({}, {.limit = 1000})->sandboxes;
    std::set<std::string> known;
    for (const auto& view : views) {
      known.insert(view.id);
      EXPECT_EQ(world.host().is_running(view.id), view.state == State::running) << view.id;
    }
    for (const auto& id : world.host().ids()) EXPECT_TRUE(known.contains(id)) << "orphan " << id;
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

TEST(Crash, DuringForkEachChildIsAbsentOrRunning) {
  sweep_crashes(
      a_running_one,
      [](EngineWorld& world, std::string id) { return world.engine().fork({}, id, 2); },
      [](EngineWorld& world, std::string id) { EXPECT_EQ(world.state_of(id), State::running); });
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
