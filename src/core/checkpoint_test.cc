// What ends is kept first, and the next sandbox of its name begins with it.
#include <algorithm>

#include "core/engine_world_internal.h"
#include "core/snapshots.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() : world_(EngineWorld::Keeps::file) {
    auto& host = world_.add();
    host.capabilities.snapshot = true;
    host.capabilities.fork = true;
    host.capabilities.pause = Pause::memory;
  }

  static CreateRequest kept(std::string name = "dev") {
    CreateRequest request;
    request.name = std::move(name);
    request.persistence = Persistence::checkpoint;
    return request;
  }
  Result<SandboxView> create(CreateRequest request = kept(), Caller caller = {}) {
    return world_.run(world_.engine().create(std::move(caller), std::move(request), {}));
  }
  Result<> destroy(const std::string& id, Remains remains = Remains::as_asked) {
    return world_.run(world_.engine().destroy({}, id, remains));
  }
  void write(const std::string& id, const std::string& bytes) {
    world_.host().boxes.at(id)->files["/workspace/f"] = {.bytes = bytes};
  }
  std::string read(const std::string& id) { return world_.exec(id, {"cat", "f"}); }
  std::vector<SnapshotView> checkpoints() { return world_.engine().list_snapshots({}, ""); }
  // One that lived, had these bytes and ended.
  void live_with(const std::string& bytes) {
    const auto id = create().value().id;
    write(id, bytes);
    ASSERT_TRUE(destroy(id));
  }
  // Until the so-manieth try to keep it is over, and it can be used again.
  void wait_until_it_failed(const std::string& id, size_t tries) {
    world_.wait_until([&] {
      return world_.host().count("snapshot") == tries && world_.engine().guest({}, id).has_value();
    });
  }
  // Until nothing of it is left.
  void wait_for_end(const std::string& id) {
    world_.wait_until([&] { return !world_.host().has(id); });
  }

  EngineWorld world_;
};

TEST_F(CheckpointTest, OfWhatIsDestroyedTheNextOfItsNameBeginsWith) {
  world_.start();
  live_with("as it was");
  ASSERT_THAT(checkpoints(), SizeIs(1));
  EXPECT_EQ(checkpoints()[0].checkpoint_of, "dev");
  EXPECT_EQ(checkpoints()[0].state, SnapshotState::ready);
  world_.restart();

  const auto next = create().value();

  EXPECT_EQ(next.snapshot, checkpoints()[0].id);
  EXPECT_EQ(next.persistence, Persistence::checkpoint);
  EXPECT_EQ(next.checkpoint, SnapshotKind::disk);
  EXPECT_EQ(read(next.id), "as it was");
  EXPECT_EQ(create()->id, next.id) << "the same request is the same sandbox";
  EXPECT_EQ(read(create(kept("other"))->id), "") << "another name is another sandbox";
}

TEST_F(CheckpointTest, OfWhatExpiresTheNextOfItsNameBeginsWith) {
  world_.start();
  auto request = kept();
  request.ttl = seconds(60);
  const auto id = create(std::move(request)).value().id;
  write(id, "as it was");
  EXPECT_EQ(world_.host().boxes.at(id)->spec.expires_at, Micros(0))
      << "its driver would not keep it";

  world_.advance(seconds(60));
  world_.reap();
  wait_for_end(id);

  EXPECT_EQ(read(create()->id), "as it was");
}

TEST_F(CheckpointTest, OfWhatExpiredWhileTheDaemonWasAwayIsKeptToo) {
  world_.start();
  auto request = kept();
  request.ttl = seconds(60);
  const auto id = create(std::move(request)).value().id;
  write(id, "as it was");

  world_.crash();
  world_.advance(seconds(600));
  world_.start();
  world_.reap();
  wait_for_end(id);

  EXPECT_EQ(read(create()->id), "as it was");
}

TEST_F(CheckpointTest, OfOneThatRestsIsKeptAwake) {
  world_.start();
  for (const bool stops : {false, true}) {
    const auto id = create().value().id;
    write(id, stops ? "stopped" : "paused");
    if (stops) {
      ASSERT_TRUE(world_.run(world_.engine().stop({}, id)));
    } else {
      ASSERT_TRUE(world_.run(world_.engine().pause({}, id)));
    }

    ASSERT_TRUE(destroy(id));

    EXPECT_EQ(read(create()->id), stops ? "stopped" : "paused");
    ASSERT_TRUE(destroy("dev"));
  }
}

TEST_F(CheckpointTest, WhatCannotBeKeptIsNotDestroyed) {
  world_.start();
  const auto id = create().value().id;
  write(id, "precious");
  world_.host().fail("snapshot", Error(Code::out_of_space, "full"));

  const auto refused = destroy(id);

  EXPECT_EQ(refused.error().code(), Code::out_of_space);
  EXPECT_THAT(refused.error().message(), HasSubstr("not destroyed, because it could not be kept"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("--discard"));
  EXPECT_EQ(world_.state_of(id), State::running);
  EXPECT_EQ(read(id), "precious");
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_THAT(world_.host().snapshots, IsEmpty());
  EXPECT_TRUE(destroy(id));
}

TEST_F(CheckpointTest, WhatCannotBeKeptDoesNotExpireAndIsTriedAgain) {
  world_.start();
  auto request = kept();
  request.ttl = seconds(60);
  const auto id = create(std::move(request)).value().id;
  world_.host().fail("snapshot", Error(Code::out_of_space, "full"), 2);

  world_.advance(seconds(60));
  world_.reap();
  wait_until_it_failed(id, 1);
  world_.reap();
  EXPECT_EQ(world_.host().count("snapshot"), 1U) << "not at once";
  world_.advance(seconds(10));
  world_.reap();
  wait_until_it_failed(id, 2);
  EXPECT_TRUE(world_.host().is_running(id));
  world_.advance(seconds(20));
  world_.reap();

  wait_for_end(id);
  EXPECT_THAT(checkpoints(), SizeIs(1));
}

TEST_F(CheckpointTest, WhatIsDiscardedIsNotKept) {
  world_.start();
  live_with("first");
  const auto id = create().value().id;
  write(id, "second");
  world_.host().fail("snapshot", Error(Code::out_of_space, "full"));

  ASSERT_TRUE(destroy(id, Remains::discarded));

  EXPECT_EQ(world_.host().count("snapshot"), 1U);
  EXPECT_EQ(read(create()->id), "first");
}

TEST_F(CheckpointTest, OneThatHasFailedIsThereUntilItIsDiscarded) {
  world_.start();
  const auto id = create().value().id;
  world_.host().end(id, EndedBy::death);
  world_.settle();

  EXPECT_EQ(destroy(id).error().code(), Code::conflict);
  EXPECT_TRUE(world_.host().has(id));
  EXPECT_TRUE(destroy(id, Remains::discarded));
}

TEST_F(CheckpointTest, OfWhichNothingIsLeftEndsAllTheSame) {
  world_.start();
  live_with("as it was");
  const auto id = create().value().id;
  world_.crash();
  world_.host().lose(id);
  world_.start();
  EXPECT_EQ(world_.state_of(id), State::failed);

  ASSERT_TRUE(destroy(id));

  EXPECT_EQ(read(create()->id), "as it was");
}

TEST_F(CheckpointTest, OfOneNameAreAFewAndTheNewestCountsHoweverTheClockIsSet) {
  world_.start();
  for (const std::string bytes : {"1", "2", "3", "4", "5"}) {
    live_with(bytes);
    world_.clock.set_wall(world_.clock.wall() - std::chrono::hours(30));
  }

  EXPECT_THAT(checkpoints(), SizeIs(kMostCheckpoints));
  EXPECT_THAT(world_.host().snapshots, SizeIs(kMostCheckpoints));
  world_.restart();
  EXPECT_EQ(read(create()->id), "5");
}

TEST_F(CheckpointTest, CountAsSnapshotsAndReplaceTheirOwnAtTheLimit) {
  world_.options.most_snapshots_per_tenant = kMostCheckpoints;
  world_.start();
  for (const std::string bytes : {"1", "2", "3", "4"}) live_with(bytes);
  const auto id = create(kept("other")).value().id;

  EXPECT_EQ(destroy(id).error().code(), Code::resource_exhausted);
  EXPECT_TRUE(world_.host().is_running(id));
}

TEST_F(CheckpointTest, OfAnotherAgentAreNobodyElses) {
  const Caller ann{.subject = "ann", .role = Role::agent};
  const Caller bob{.subject = "bob", .role = Role::agent};
  const Caller stranger{.tenant = "other"};
  world_.start();
  const auto id = create(kept(), ann).value().id;
  write(id, "of ann");
  ASSERT_TRUE(destroy(id));

  EXPECT_EQ(create(kept(), bob).error().code(), Code::already_exists);
  const auto theirs = world_.run(world_.engine().create(stranger, kept(), {}));
  EXPECT_EQ(theirs->snapshot, "");
  EXPECT_EQ(create(kept(), ann)->snapshot, checkpoints()[0].id);
}

TEST_F(CheckpointTest, OfAWorkspaceAreItsNextHolders) {
  const Caller ann{.subject = "ann", .role = Role::agent};
  const Caller bob{.subject = "bob", .role = Role::agent};
  world_.start();
  CreateRequest request;
  request.persistence = Persistence::checkpoint;
  const SessionAsk web{.scope = SessionScope::workspace, .key = "web"};
  const auto first = world_.run(world_.engine().open_session(ann, web, std::move(request))).value();
  write(first.sandbox, "of both");
  ASSERT_TRUE(world_.run(world_.engine().close_session(ann, first.id)));
  EXPECT_FALSE(world_.host().has(first.sandbox));

  CreateRequest again;
  again.persistence = Persistence::checkpoint;
  const auto next = world_.run(world_.engine().open_session(bob, web, std::move(again)));

  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(read(next->sandbox), "of both");
}

TEST_F(CheckpointTest, OfSomebodyAloneAreNotThoseOfAWorkspaceThatIsCalledTheSame) {
  const Caller ann{.subject = "ann", .role = Role::agent};
  const Caller bob{.subject = "bob", .role = Role::agent};
  world_.start();
  const auto id = create(kept("workspace-web"), ann).value().id;
  write(id, "of ann");
  ASSERT_TRUE(destroy(id));

  CreateRequest request;
  request.persistence = Persistence::checkpoint;
  const SessionAsk web{.scope = SessionScope::workspace, .key = "web"};
  const auto opened = world_.run(world_.engine().open_session(bob, web, std::move(request)));

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::already_exists);
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(CheckpointTest, WhatIsAskedMustBePossible) {
  world_.start();
  auto nameless = kept("");
  EXPECT_THAT(create(std::move(nameless)).error().message(), HasSubstr("found again by its name"));
  CreateRequest half;
  half.checkpoint = SnapshotKind::disk;
  EXPECT_THAT(create(std::move(half)).error().message(), HasSubstr("it takes persistence"));
  auto memory = kept();
  memory.checkpoint = SnapshotKind::memory;
  EXPECT_THAT(create(std::move(memory)).error().hint(),
              HasSubstr("fake keeps no memory in a snapshot"));
  ExecRequest exec;
  exec.argv = {"true"};
  const auto run = world_.run(world_.engine().run({}, kept(), std::move(exec), "", 100));
  EXPECT_THAT(run.error().message(), HasSubstr("persistence: a run's sandbox ends"));
  world_.crash();
  world_.host().capabilities.snapshot = false;
  world_.start();
  EXPECT_THAT(create().error().hint(), HasSubstr("fake has no snapshots"));
}

TEST_F(CheckpointTest, WhatIsLostIsToldAndNotReplacedBySomethingOlder) {
  world_.start();
  live_with("first");
  live_with("second");
  // Both may be of the same moment.
  const auto newest = std::ranges::max(checkpoints(), {}, &SnapshotView::checkpoint).id;
  world_.host().snapshots.erase(newest);
  world_.sweep();

  const auto refused = create();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("has lost snapshot " + newest));
  ASSERT_TRUE(world_.run(world_.engine().drop_snapshot({}, newest)));

  EXPECT_EQ(read(create()->id), "first");
}

TEST_F(CheckpointTest, NobodyComesInOnceItIsBeingKept) {
  world_.start();
  const auto id = create().value().id;
  world_.host().hold("snapshot");
  const auto ending = world_.begin(world_.engine().destroy({}, id));

  EXPECT_EQ(world_.engine().guest({}, id).error().code(), Code::conflict);
  EXPECT_EQ(create().error().code(), Code::conflict) << "what ends is not joined";
  world_.host().release("snapshot");
  world_.wait_until([&] { return ending.done(); });

  EXPECT_TRUE(ending.get());
}

TEST_F(CheckpointTest, ForksHaveNoNameAndLeaveNothing) {
  world_.start();
  const auto id = create().value().id;

  const auto children = world_.run(world_.engine().fork({}, id, 1)).value();

  EXPECT_EQ(children[0].persistence, Persistence::ephemeral);
  ASSERT_TRUE(destroy(children[0].id));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(CheckpointTest, WhoeverNamesASnapshotGetsThatOne) {
  world_.start();
  live_with("first");
  const auto first = checkpoints()[0].id;
  live_with("second");

  const auto other = world_.run(world_.engine().create({}, {.snapshot = first}, {})).value();

  EXPECT_EQ(other.persistence, Persistence::ephemeral) << "only what is asked leaves checkpoints";
  EXPECT_EQ(read(other.id), "first");
}

TEST_F(CheckpointTest, AtTheEndOfTheServerEverythingIsKept) {
  world_.start();
  const auto id = create().value().id;
  write(id, "as it was");

  ASSERT_TRUE(world_.run(world_.engine().shut_down(Ending::end_sandboxes)));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
  world_.restart();

  EXPECT_EQ(read(create()->id), "as it was");
}

}  // namespace
}  // namespace atl
