// What both stores promise, said once.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/ids.h"
#include "base/run_task.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace atl::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct MemoryWorld {
  asio::io_context loop;
  MemoryStore memory{loop.get_executor()};

  Store& store() { return memory; }
};

struct SqliteWorld {
  SqliteWorld() {
    std::filesystem::create_directories(directory);
    auto opened = SqliteStore::open(loop.get_executor(), directory / "state.db");
    if (!opened) throw std::runtime_error(opened.error().message());
    sqlite = *std::move(opened);
  }
  ~SqliteWorld() {
    sqlite.reset();
    std::filesystem::remove_all(directory);
  }

  Store& store() { return *sqlite; }

  asio::io_context loop;
  std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("atoll-store-" + random_name(8));
  std::unique_ptr<SqliteStore> sqlite;
};

SandboxRow a_row(std::string id, std::string name = {}) {
  SandboxRow row;
  row.id = std::move(id);
  row.tenant = "default";
  row.owner = "key1";
  row.name = std::move(name);
  row.user_id = "ada";
  row.state = "running";
  row.lifecycle = "session";
  row.driver = "local";
  row.isolation = "none";
  row.placement = "host";
  row.profile = "default";
  row.labels = R"({"team":"blue"})";
  row.resources = R"({"cpu":1.5})";
  row.created_at_ms = 1'700'000'000'000;
  row.expires_at_ms = 1'700'000'060'000;
  row.expires_boot_us = 60'000'000;
  row.boot_id = "b-1";
  row.ttl_s = 60;
  row.idle_s = 10;
  row.last_active_ms = 1'700'000'000'001;
  row.generation = 3;
  return row;
}

template <typename World>
class StoreTest : public ::testing::Test {
 protected:
  Result<> commit(std::vector<Change> changes, Durability durability = Durability::boot) {
    Transaction transaction{durability, std::move(changes)};
    return run_task(world_.loop, world_.store().commit(std::move(transaction)));
  }
  Contents load() { return run_task(world_.loop, world_.store().load()).value(); }
  std::optional<SandboxRow> find(std::string id) {
    return run_task(world_.loop, world_.store().find_sandbox(std::move(id))).value();
  }

  World world_;
};

using Worlds = ::testing::Types<MemoryWorld, SqliteWorld>;
TYPED_TEST_SUITE(StoreTest, Worlds);

TYPED_TEST(StoreTest, GivesBackEveryFieldOfASandbox) {
  const auto row = a_row("sbx1", "web");

  ASSERT_TRUE(this->commit({PutSandbox{row}}));

  EXPECT_THAT(this->load().live, ElementsAre(row));
  EXPECT_EQ(this->find("sbx1"), row);
}

TYPED_TEST(StoreTest, KeepsBytesThatAreNotTextAsTheyAre) {
  auto row = a_row("sbx1");
  row.failure = std::string("half\0way \xff\xfe 'quoted' \"x\" ;--", 27);

  ASSERT_TRUE(this->commit({PutSandbox{row}}));

  EXPECT_EQ(this->find("sbx1")->failure, row.failure);
}

TYPED_TEST(StoreTest, PutReplacesARowOfTheSameId) {
  auto row = a_row("sbx1", "web");
  ASSERT_TRUE(this->commit({PutSandbox{row}}));

  row.state = "stopped";
  row.name = "renamed";
  row.generation = 4;
  ASSERT_TRUE(this->commit({PutSandbox{row}}));

  EXPECT_THAT(this->load().live, ElementsAre(row));
}

TYPED_TEST(StoreTest, AnEndedSandboxIsFoundButNotLive) {
  auto row = a_row("sbx1", "web");
  row.state = "destroyed";
  row.ended_at_ms = 1'700'000'000'500;

  ASSERT_TRUE(this->commit({PutSandbox{row}}));

  EXPECT_THAT(this->load().live, IsEmpty());
  EXPECT_EQ(this->find("sbx1"), row);
}

TYPED_TEST(StoreTest, ANameIsUniqueAmongTheLiveOfATenant) {
  ASSERT_TRUE(this->commit({PutSandbox{a_row("sbx1", "web")}}));

  auto second = this->commit(
      {PutIntent{{.id = 1, .sandbox = "sbx2", .op = "create"}}, PutSandbox{a_row("sbx2", "web")}});

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::already_exists);
  EXPECT_THAT(this->load().live, SizeIs(1));
  EXPECT_THAT(this->load().pending, IsEmpty()) << "a failed transaction left something behind";
}

TYPED_TEST(StoreTest, TheSameNameIsFreeForAnotherTenantAndAfterTheEnd) {
  auto ended = a_row("sbx1", "web");
  ended.ended_at_ms = 5;
  auto stranger = a_row("sbx2", "web");
  stranger.tenant = "other";

  ASSERT_TRUE(this->commit({PutSandbox{ended}, PutSandbox{stranger}}));

  EXPECT_TRUE(this->commit({PutSandbox{a_row("sbx3", "web")}}));
}

TYPED_TEST(StoreTest, OneRefusedTransactionDoesNotHarmItsNeighbours) {
  ASSERT_TRUE(this->commit({PutSandbox{a_row("sbx1", "web")}}));
  std::vector<bool> ok;
  const auto note = [&](Result<> result) { ok.push_back(result.has_value()); };

  this->world_.store().enqueue({Durability::boot, {PutSandbox{a_row("sbx2", "a")}}}, note);
  this->world_.store().enqueue({Durability::boot, {PutSandbox{a_row("sbx3", "web")}}}, note);
  this->world_.store().enqueue({Durability::disk, {PutSandbox{a_row("sbx4", "b")}}}, note);
  const auto contents = this->load();

  EXPECT_THAT(ok, ElementsAre(true, false, true));
  EXPECT_THAT(contents.live, SizeIs(3));
}

TYPED_TEST(StoreTest, OnlyPendingIntentsAreLoadedInTheOrderOfWriting) {
  const auto intent = [](int64_t id, std::string op) {
    return PutIntent{{.id = id, .sandbox = "sbx1", .generation = id, .op = std::move(op)}};
  };
  ASSERT_TRUE(this->commit({intent(1, "create"), intent(2, "stop"), intent(3, "destroy")}));

  ASSERT_TRUE(this->commit({EndIntent{.id = 2, .state = IntentState::failed, .error = "no"}}));

  const auto contents = this->load();
  ASSERT_THAT(contents.pending, SizeIs(2));
  EXPECT_EQ(contents.pending[0].op, "create");
  EXPECT_EQ(contents.pending[1].op, "destroy");
  EXPECT_EQ(contents.last_intent, 3);
}

TYPED_TEST(StoreTest, IdempotencyRowsCanBePutReplacedAndDropped) {
  const IdempotencyRow first{.tenant = "t", .key = "k", .request_hash = "h1", .sandbox = "sbx1"};
  const IdempotencyRow second{.tenant = "t", .key = "k", .request_hash = "h2", .sandbox = "sbx2"};
  const IdempotencyRow other{.tenant = "u", .key = "k", .request_hash = "h3", .sandbox = "sbx3"};

  ASSERT_TRUE(this->commit({PutIdempotency{first}, PutIdempotency{other}, PutIdempotency{second}}));
  EXPECT_THAT(this->load().idempotency, ElementsAre(second, other));
  ASSERT_TRUE(this->commit({DropIdempotency{"t", "k", "sbx1"}}));
  EXPECT_THAT(this->load().idempotency, ElementsAre(second, other)) << "it means another sandbox";
  ASSERT_TRUE(this->commit({DropIdempotency{"t", "k", "sbx2"}}));

  EXPECT_THAT(this->load().idempotency, ElementsAre(other));
}

TYPED_TEST(StoreTest, PoolsCanBePutReplacedAndDropped) {
  ASSERT_TRUE(this->commit({PutPool{{"b", "{}"}}, PutPool{{"a", "{}"}}}, Durability::disk));
  ASSERT_TRUE(this->commit({PutPool{{"a", R"({"image":"x"})"}}, DropPool{"b"}, DropPool{"c"}}));

  const auto contents = this->load();

  EXPECT_THAT(contents.pools, ElementsAre(PoolRow{"a", R"({"image":"x"})"}));
}

TYPED_TEST(StoreTest, KeysCanBePutTouchedAndDropped) {
  KeyRow key{.id = "k1", .tenant = "t", .role = "admin", .hash = "aa", .created_at_ms = 1};
  const KeyRow other{.id = "k2", .tenant = "t", .role = "user", .hash = "bb", .created_at_ms = 2};
  ASSERT_TRUE(this->commit({PutKey{key}, PutKey{other}}, Durability::disk));

  ASSERT_TRUE(this->commit({TouchKey{"k1", 99}, DropKey{"k2"}}));

  key.last_used_at_ms = 99;
  EXPECT_THAT(this->load().keys, ElementsAre(key));
}

TYPED_TEST(StoreTest, PruningForgetsTheOldAndTheSurplusButNothingLive) {
  std::vector<Change> changes{PutSandbox{a_row("live")}};
  for (int64_t at : {10, 20, 30, 40}) {
    auto row = a_row("ended" + std::to_string(at));
    row.ended_at_ms = at;
    changes.push_back(PutSandbox{row});
    changes.push_back(PutIntent{{.id = at, .sandbox = row.id, .created_at_ms = 90}});
  }
  changes.push_back(PutIdempotency{{.tenant = "t", .key = "old", .expires_at_ms = 100}});
  changes.push_back(PutIdempotency{{.tenant = "t", .key = "new", .expires_at_ms = 101}});
  ASSERT_TRUE(this->commit(std::move(changes)));

  ASSERT_TRUE(this->commit(
      {Prune{.now_ms = 100, .boot_id = "b-1", .ended_before_ms = 15, .most_ended = 2}}));

  EXPECT_TRUE(this->find("live"));
  EXPECT_FALSE(this->find("ended10"));
  EXPECT_FALSE(this->find("ended20"));
  EXPECT_TRUE(this->find("ended30"));
  EXPECT_TRUE(this->find("ended40"));
  EXPECT_THAT(this->load().pending, SizeIs(2)) << "intents go with their sandboxes";
  EXPECT_THAT(this->load().idempotency, SizeIs(1));
}

TYPED_TEST(StoreTest, PruningForgetsKeysOfThisBootByItsClock) {
  IdempotencyRow late{.tenant = "t", .key = "late", .expires_at_ms = 1, .expires_boot_us = 51};
  IdempotencyRow over{.tenant = "t", .key = "over", .expires_at_ms = 900, .expires_boot_us = 50};
  late.boot_id = over.boot_id = "b-1";
  IdempotencyRow earlier{.tenant = "t", .key = "no", .expires_at_ms = 900, .expires_boot_us = 1};
  earlier.boot_id = "b-0";
  ASSERT_TRUE(this->commit({PutIdempotency{late}, PutIdempotency{over}, PutIdempotency{earlier}}));

  ASSERT_TRUE(
      this->commit({Prune{.now_ms = 100, .now_boot_us = 50, .boot_id = "b-1", .most_ended = 10}}));

  EXPECT_THAT(this->load().idempotency, UnorderedElementsAre(late, earlier));
}

TYPED_TEST(StoreTest, SettledIntentsOfALiveSandboxArePrunedByAge) {
  ASSERT_TRUE(this->commit({PutSandbox{a_row("sbx1")},
                            PutIntent{{.id = 1, .sandbox = "sbx1", .created_at_ms = 5}},
                            PutIntent{{.id = 2, .sandbox = "sbx1", .created_at_ms = 5}},
                            EndIntent{.id = 1, .state = IntentState::done}}));

  ASSERT_TRUE(this->commit({Prune{.now_ms = 100, .ended_before_ms = 50, .most_ended = 10}}));

  EXPECT_THAT(this->load().pending, SizeIs(1)) << "a pending intent is never pruned";
  EXPECT_EQ(this->load().last_intent, 2);
}

TYPED_TEST(StoreTest, HasOneInstanceIdForAsLongAsItExists) {
  const auto first = this->load().instance_id;

  EXPECT_EQ(first.size(), 20U);
  EXPECT_EQ(this->load().instance_id, first);
}

}  // namespace
}  // namespace atl::store
