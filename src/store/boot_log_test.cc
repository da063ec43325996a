#include "store/boot_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "base/ids.h"
#include "store/change_bytes.h"

namespace atl::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BootLogTest : public ::testing::Test {
 protected:
  BootLogTest() { fs::create_directories(directory_); }
  ~BootLogTest() override { fs::remove_all(directory_); }

  std::unique_ptr<BootLog> make(uint64_t taken = 0) {
    return BootLog::create(path_, "ours", taken).value();
  }
  std::vector<std::string> read(uint64_t taken = 0, const std::string& instance = "ours") {
    return BootLog::read(path_, instance, taken).value();
  }

  fs::path directory_ = fs::temp_directory_path() / ("atoll-boot-log-" + random_name(8));
  std::string path_ = directory_ / "state.db-boot";
};

TEST_F(BootLogTest, WithoutAFileThereIsNothing) { EXPECT_THAT(read(), IsEmpty()); }

TEST_F(BootLogTest, GivesWhatTheTablesDoNotHave) {
  const auto log = make(7);
  for (const char* bytes : {"eight", "", "ten"}) ASSERT_TRUE(log->append(bytes));

  EXPECT_THAT(read(7), ElementsAre("eight", "", "ten"));
  EXPECT_THAT(read(9), ElementsAre("ten"));
  EXPECT_THAT(read(10), IsEmpty());
}

TEST_F(BootLogTest, ALogThatDoesNotFollowOnIsPassedOver) {
  ASSERT_TRUE(make(7)->append("eight"));

  EXPECT_THAT(read(6), IsEmpty()) << "seven is in neither";
}

TEST_F(BootLogTest, ALogOfAnotherStoreIsPassedOver) {
  ASSERT_TRUE(make()->append("one"));

  EXPECT_THAT(read(0, "theirs"), IsEmpty());
}

TEST_F(BootLogTest, WhatLiesBehindTheNewestIsOldAndNotTold) {
  const auto log = make();
  for (const char* bytes : {"one", "two", "tri"}) ASSERT_TRUE(log->append(bytes));

  log->begin_again();
  ASSERT_TRUE(log->append("fou"));

  EXPECT_THAT(read(3), ElementsAre("fou"));
}

TEST_F(BootLogTest, NothingIsToldFromATornEntryOn) {
  const auto log = make();
  for (const char* bytes : {"one", "two", "three"}) ASSERT_TRUE(log->append(bytes));
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  std::string all(BootLog::kSize, '\0');
  file.read(all.data(), static_cast<std::streamsize>(all.size()));
  file.seekp(static_cast<std::streamoff>(all.find("two")));
  file << "tvo" << std::flush;

  EXPECT_THAT(read(), ElementsAre("one"));
}

TEST_F(BootLogTest, RefusesWhatItHasNoRoomForAndKeepsTheRest) {
  const auto log = make();
  const std::string half(BootLog::kSize / 2, 'x');
  ASSERT_TRUE(log->append(half));
  EXPECT_TRUE(log->is_half_full());

  const auto refused = log->append(half);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::out_of_space);
  EXPECT_EQ(log->last(), 1U);
  ASSERT_TRUE(log->append("small"));
  EXPECT_THAT(read(), ElementsAre(half, "small"));
}

TEST_F(BootLogTest, TheFileIsForItsOwnerAlone) {
  const auto log = make();
  struct stat info{};

  ASSERT_EQ(::stat(path_.c_str(), &info), 0);

  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST(ChangeBytes, GiveEveryFieldBack) {
  SandboxRow row;
  row.id = "sbx1";
  row.tenant = "acme";
  row.owner = "key1";
  row.user_id = "ada";
  row.state = "running";
  row.lifecycle = "session";
  row.driver = "native";
  row.isolation = "container";
  row.placement = "host";
  row.profile = "none";
  row.labels = R"({"a":"b"})";
  row.resources = R"({"cpu":1})";
  row.spec = R"({"x":1})";
  row.created_at_ms = 1;
  row.expires_at_ms = 2;
  row.expires_boot_us = 3;
  row.boot_id = "boot";
  row.ttl_s = 4;
  row.idle_s = 5;
  row.last_active_ms = 6;
  row.ended_at_ms = 7;
  row.failure = std::string("\0\xff", 2);
  row.generation = -8;
  const IntentRow intent{.id = 9,
                         .sandbox = "sbx1",
                         .generation = 2,
                         .op = "create",
                         .state = IntentState::undone,
                         .created_at_ms = 3,
                         .error = "no"};
  const IdempotencyRow key{.tenant = "acme",
                           .key = "k",
                           .request_hash = "h",
                           .sandbox = "sbx1",
                           .expires_at_ms = 11,
                           .expires_boot_us = 12,
                           .boot_id = "boot"};

  const auto back = changes_from(
      to_bytes({PutSandbox{row}, PutIntent{intent}, EndIntent{9, IntentState::failed, "why"},
                PutIdempotency{key}, DropIdempotency{"acme", "k", "sbx1"}}));

  ASSERT_TRUE(back) << back.error().message();
  ASSERT_EQ(back->size(), 5U);
  EXPECT_EQ(std::get<PutSandbox>(back->at(0)).row, row);
  EXPECT_EQ(std::get<PutIntent>(back->at(1)).row, intent);
  const auto& end = std::get<EndIntent>(back->at(2));
  EXPECT_EQ(end.id, 9);
  EXPECT_EQ(end.state, IntentState::failed);
  EXPECT_EQ(end.error, "why");
  EXPECT_EQ(std::get<PutIdempotency>(back->at(3)).row, key);
  const auto& drop = std::get<DropIdempotency>(back->at(4));
  EXPECT_EQ(drop.tenant + drop.key + drop.sandbox, "acmeksbx1");
}

TEST(ChangeBytes, AKeyOfAProgramThatKnewTheWallsClockAloneIsRead) {
  ByteWriter old;
  old.u32(1);
  old.u8(4);
  for (const std::string_view text : {"acme", "k", "h", "sbx1"}) old.text(text);
  old.i64(11);

  const auto back = changes_from(std::move(old).bytes());

  ASSERT_TRUE(back) << back.error().message();
  const IdempotencyRow key{
      .tenant = "acme", .key = "k", .request_hash = "h", .sandbox = "sbx1", .expires_at_ms = 11};
  EXPECT_EQ(std::get<PutIdempotency>(back->at(0)).row, key);
}

TEST(ChangeBytes, CutShortTheyAreAnError) {
  const std::string bytes = to_bytes({EndIntent{9, IntentState::failed, "why"}});

  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(changes_from(std::string_view(bytes).substr(0, length))) << length;
  }
}

TEST(ChangeBytes, ANameIsNeverSure) {
  SandboxRow row;
  EXPECT_TRUE(is_sure(PutSandbox{row}));
  row.name = "web";
  EXPECT_FALSE(is_sure(PutSandbox{row}));
  EXPECT_FALSE(is_sure(PutKey{}));
}

}  // namespace
}  // namespace atl::store
