// What only the SQLite store promises: files, crashes, full disks.
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/ids.h"
#include "base/run_task.h"
#include "store/boot_log.h"
#include "store/change_bytes.h"
#include "store/sqlite_schema.h"

namespace atl::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest() { fs::create_directories(directory_); }
  ~SqliteStoreTest() override {
    store_.reset();
    fs::remove_all(directory_);
  }

  Result<> open(SqliteOptions options = {}) {
    store_.reset();
    TRY(store_, SqliteStore::open(loop_.get_executor(), path_, options));
    return {};
  }

  Result<> put(std::string id, Durability durability, size_t bytes = 0) {
    SandboxRow row;
    row.id = std::move(id);
    row.failure.assign(bytes, 'x');
    Transaction transaction{durability, {PutSandbox{std::move(row)}}};
    return run_task(loop_, store_->commit(std::move(transaction)));
  }
  Contents load() { return run_task(loop_, store_->load()).value(); }

  fs::path directory_ = fs::temp_directory_path() / ("atoll-sqlite-" + random_name(8));
  std::string path_ = directory_ / "state.db";
  asio::io_context loop_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreTest, KeepsEverythingAcrossReopening) {
  ASSERT_TRUE(open());
  const auto instance = load().instance_id;
  ASSERT_TRUE(put("sbx1", Durability::boot));
  ASSERT_TRUE(put("sbx2", Durability::disk));

  ASSERT_TRUE(open());

  EXPECT_THAT(load().live, SizeIs(2));
  EXPECT_EQ(load().instance_id, instance);
}

TEST_F(SqliteStoreTest, CommitsWhatIsQueuedBeforeItCloses) {
  ASSERT_TRUE(open());
  for (int i = 0; i < 1000; ++i) {
    SandboxRow row;
    row.id = "sbx" + std::to_string(i);
    store_->enqueue({Durability::boot, {PutSandbox{row}}}, {});
  }

  ASSERT_TRUE(open());

  EXPECT_THAT(load().live, SizeIs(1000));
}

TEST_F(SqliteStoreTest, TheFileIsForItsOwnerAlone) {
  ASSERT_TRUE(open());
  struct stat info{};

  ASSERT_EQ(::stat(path_.c_str(), &info), 0);

  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNoDatabaseAndLeavesItAsItIs) {
  const std::string garbage(8192, 'g');
  std::ofstream(path_) << garbage;

  const auto opened = open();

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr(path_));
  EXPECT_THAT(opened.error().hint(), HasSubstr("never replaces it"));
  std::ifstream in(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), garbage);
}

TEST_F(SqliteStoreTest, RefusesADatabaseWithDamagedPages) {
  ASSERT_TRUE(open());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(put("sbx" + std::to_string(i), Durability::boot, 500));
  store_.reset();
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(fs::file_size(path_));
    for (std::streamoff at = 8192; at + 64 < size; at += 4096) {
      file.seekp(at);
      file << std::string(64, '\x7f');
    }
  }

  const auto opened = open();

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("is damaged"));
  EXPECT_THAT(opened.error().message(), HasSubstr(path_));
}

TEST_F(SqliteStoreTest, RefusesADatabaseOfSomebodyElse) {
  {
    auto connection = Connection::open(path_);
    ASSERT_TRUE(connection);
    ASSERT_TRUE((*connection)->execute("CREATE TABLE theirs (x)"));
  }

  const auto opened = open();

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("not one of Atoll's"));
}

TEST_F(SqliteStoreTest, RefusesANewerSchemaAndSaysSo) {
  ASSERT_TRUE(open());
  store_.reset();
  {
    auto connection = Connection::open(path_);
    ASSERT_TRUE(connection);
    ASSERT_TRUE((*connection)->execute("PRAGMA user_version=999"));
  }

  const auto opened = open();

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("schema version 999"));
  EXPECT_THAT(opened.error().hint(), HasSubstr("newer Atoll"));
}

TEST_F(SqliteStoreTest, MigrationsAreNumberedFromOneWithoutGaps) {
  int expected = 0;
  for (const auto& migration : all_migrations()) {
    ++expected;
    EXPECT_EQ(migration.version, expected);
    EXPECT_EQ(std::atoi(std::string(migration.name.substr(0, 4)).c_str()), expected);
  }
  EXPECT_GE(expected, 1);
}

TEST_F(SqliteStoreTest, AMigrationThatFailsLeavesTheVersionBeforeIt) {
  const Migration first{1, "0001_first", all_migrations()[0].sql};
  const Migration broken{2, "0002_broken", "CREATE TABLE half (x); CREATE TABLE half (x);"};
  const Migration good{2, "0002_good", "CREATE TABLE half (x);"};
  auto connection = Connection::open(path_);
  ASSERT_TRUE(connection);

  const auto failed = prepare_schema(**connection, std::array{first, broken});
  const auto repaired = prepare_schema(**connection, std::array{first, good});

  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("0002_broken"));
  EXPECT_TRUE(repaired);
  EXPECT_EQ((*connection)->ask("PRAGMA user_version").value(), "2");
}

TEST_F(SqliteStoreTest, KeysOfTheFirstSchemaBecomeMembersAndAdmins) {
  {
    auto connection = Connection::open(path_);
    ASSERT_TRUE(connection);
    ASSERT_TRUE(prepare_schema(**connection, all_migrations().first(1)));
    ASSERT_TRUE((*connection)
                    ->execute("INSERT INTO api_key VALUES "
                              "('key1', 'acme', 'user', 'aa', 1, 0, 0), "
                              "('key2', 'default', 'admin', 'bb', 2, 0, 0)"));
  }
  ASSERT_TRUE(open());

  const auto keys = load().keys;

  ASSERT_THAT(keys, SizeIs(2));
  EXPECT_EQ(keys[0], (KeyRow{.id = "key1",
                             .tenant = "acme",
                             .role = "member",
                             .label = "",
                             .hash = "aa",
                             .created_at_ms = 1}));
  EXPECT_EQ(keys[1].role, "admin");
}

TEST_F(SqliteStoreTest, ReportsAMissingDirectory) {
  path_ = directory_ / "absent" / "state.db";

  const auto opened = open();

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("absent"));
}

// Needs the right to mount, since nothing else gives a small disk.
class SmallDisk final {
 public:
  explicit SmallDisk(fs::path at) : at_(std::move(at)) {
    fs::create_directories(at_);
    mounted_ = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  void fill() {
    std::ofstream ballast(at_ / "ballast");
    const std::string block(4096, 'b');
    while (ballast.write(block.data(), 4096) && ballast.flush()) {
    }
  }
  void free_space() { fs::remove(at_ / "ballast"); }

 private:
  fs::path at_;
  bool mounted_ = false;
};

TEST_F(SqliteStoreTest, AFullDiskIsReportedAndSpaceMakesItWorkAgain) {
  SmallDisk disk(directory_ / "small");
  if (!disk.mounted()) {
    ASSERT_EQ(std::getenv("ATOLL_MUST_RUN"), nullptr) << "cannot mount a tmpfs";
    GTEST_SKIP() << "needs the right to mount";
  }
  path_ = directory_ / "small" / "state.db";
  ASSERT_TRUE(open());
  ASSERT_TRUE(put("before", Durability::disk));

  disk.fill();
  Result<> refused;
  int accepted = 0;
  for (; accepted < 1000; ++accepted) {
    refused = put("during" + std::to_string(accepted), Durability::boot, 2000);
    if (!refused) break;
  }
  const auto while_full = load();
  disk.free_space();
  const auto after = put("after", Durability::disk);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::out_of_space);
  EXPECT_THAT(refused.error().message(), HasSubstr(path_));
  EXPECT_THAT(refused.error().hint(), HasSubstr("free some space"));
  EXPECT_THAT(while_full.live, SizeIs(accepted + 1)) << "exactly what was acknowledged";
  EXPECT_TRUE(after) << after.error().message();
  ASSERT_TRUE(open());
  EXPECT_THAT(load().live, SizeIs(accepted + 2));
  store_.reset();
}

// What a daemon that was killed has left in its log.
class LeftLogTest : public SqliteStoreTest {
 protected:
  LeftLogTest() {
    EXPECT_TRUE(open());
    instance_ = load().instance_id;
    store_.reset();
  }
  void leave(uint64_t taken, const std::string& bytes) {
    auto log = BootLog::create(path_ + "-boot", instance_, taken);
    ASSERT_TRUE(log) << log.error().message();
    ASSERT_TRUE((*log)->append(bytes));
  }
  static std::string bytes_of(std::string id) {
    SandboxRow row;
    row.id = std::move(id);
    return to_bytes({PutSandbox{std::move(row)}});
  }

  std::string instance_;
};

TEST_F(LeftLogTest, GoesIntoTheTables) {
  leave(0, bytes_of("sbx1"));

  ASSERT_TRUE(open());

  EXPECT_THAT(load().live, SizeIs(1));
  store_.reset();
  EXPECT_FALSE(fs::exists(path_ + "-boot")) << "there is nothing left in it";
  ASSERT_TRUE(open());
  EXPECT_THAT(load().live, SizeIs(1));
}

TEST_F(LeftLogTest, IsNotTakenTwice) {
  leave(0, bytes_of("sbx1"));
  ASSERT_TRUE(open());
  store_.reset();
  leave(0, bytes_of("sbx2"));

  ASSERT_TRUE(open());

  EXPECT_THAT(load().live, SizeIs(1)) << "number one is there already";
}

TEST_F(LeftLogTest, ThatCannotBeUnderstoodIsRefusedAndLeftAsItIs) {
  leave(0, "nonsense");

  const auto opened = open();

  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr(path_ + "-boot"));
  EXPECT_TRUE(fs::exists(path_ + "-boot"));
}

TEST_F(SqliteStoreTest, WhatIsLoggedNeedsNoLoop) {
  ASSERT_TRUE(open());
  bool done = false;
  Transaction transaction{Durability::boot, {PutSandbox{{.id = "sbx1"}}}};

  spawn(loop_.get_executor(), store_->commit(std::move(transaction)),
        [&](Result<>) { done = true; });
  loop_.poll_one();

  EXPECT_TRUE(done) << "it waits for the writer";
  EXPECT_THAT(load().live, SizeIs(1));
}

TEST_F(SqliteStoreTest, TheLastOfSeveralWritesOfOneRowStays) {
  ASSERT_TRUE(open());
  // Those in turns that wait for the disk and that do not, and those with a name and without.
  for (int64_t i = 1; i <= 400; ++i) {
    SandboxRow row{.id = "sbx1"};
    row.generation = i;
    if (i % 7 == 0) row.name = "web";
    store_->enqueue({i % 3 == 0 ? Durability::disk : Durability::boot, {PutSandbox{row}}}, {});
  }

  EXPECT_EQ(load().live.at(0).generation, 400);
  ASSERT_TRUE(open());
  EXPECT_EQ(load().live.at(0).generation, 400);
}

TEST_F(SqliteStoreTest, WhatTheTablesCannotTakeYetIsNeitherLostNorPassedOver) {
  SmallDisk disk(directory_ / "small");
  if (!disk.mounted()) {
    ASSERT_EQ(std::getenv("ATOLL_MUST_RUN"), nullptr) << "cannot mount a tmpfs";
    GTEST_SKIP() << "needs the right to mount";
  }
  path_ = directory_ / "small" / "state.db";
  ASSERT_TRUE(open({.least_free_bytes = 0}));

  disk.fill();
  // As fast as it goes, so that the log is ahead of the tables when those find no room.
  Result<> refused;
  size_t accepted = 0;
  for (; accepted < 1000; ++accepted) {
    refused = put("during" + std::to_string(accepted), Durability::boot, 2000);
    if (!refused) break;
  }
  const auto while_full = run_task(loop_, store_->load());
  const auto again = put("again", Durability::boot);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::out_of_space);
  ASSERT_FALSE(while_full) << "it would not tell of what was acknowledged";
  EXPECT_EQ(while_full.error().code(), Code::out_of_space);
  EXPECT_EQ(again.error().code(), Code::out_of_space);
  store_.reset();
  disk.free_space();
  ASSERT_TRUE(open({.least_free_bytes = 0}));
  EXPECT_THAT(load().live, SizeIs(accepted));
  EXPECT_TRUE(put("after", Durability::boot));
  store_.reset();
}

// Writes rows for ever and tells each one that the store acknowledged.
[[noreturn]] void write_until_killed(const std::string& path, int acknowledged) {
  asio::io_context loop;
  auto store = SqliteStore::open(loop.get_executor(), path);
  if (!store) _exit(1);
  for (uint32_t i = 0;; ++i) {
    SandboxRow row;
    row.id = "sbx" + std::to_string(i);
    const auto durability = i % 16 == 0 ? Durability::disk : Durability::boot;
    Transaction transaction{durability, {PutSandbox{row}, PutIntent{{.id = i, .sandbox = row.id}}}};
    if (!run_task(loop, (*store)->commit(std::move(transaction)))) _exit(2);
    if (::write(acknowledged, &i, sizeof i) != sizeof i) _exit(3);
  }
}

TEST_F(SqliteStoreTest, WhatWasAcknowledgedIsThereAfterKillNine) {
  for (const uint32_t rows : {1U, 7U, 64U, 300U}) {
    fs::remove(path_);
    fs::remove(path_ + "-wal");
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd from_child(ends[0]);
    Fd to_parent(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) write_until_killed(path_, to_parent.get());
    to_parent.close();

    uint32_t last = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      ASSERT_EQ(::read(from_child.get(), &last, sizeof last), static_cast<ssize_t>(sizeof last));
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    while (::read(from_child.get(), &last, sizeof last) == static_cast<ssize_t>(sizeof last)) {
    }
    ASSERT_TRUE(open());

    const auto contents = load();
    EXPECT_GE(contents.live.size(), last + 1U);
    EXPECT_EQ(contents.live.size(), contents.pending.size()) << "half a transaction is there";
    store_.reset();
  }
}

}  // namespace
}  // namespace atl::store
