#include "native/storage_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::native {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMib = 1ULL << 20;
constexpr uint64_t kGib = 1ULL << 30;

PoolObstacle none() { return {}; }
PoolObstacle no_mkfs() { return {"mkfs.btrfs is not installed", "apt install btrfs-progs"}; }

Storage chosen(uint64_t disk, uint64_t memory) {
  return choose_storage(disk, memory, Authority::root, none).storage;
}

TEST(StorageChoice, TheDefaultSandboxStaysInMemory) {
  EXPECT_EQ(chosen(0, 0), Storage::memory);
  EXPECT_EQ(chosen(kDefaultDisk, kDefaultMemory), Storage::memory);
  EXPECT_EQ(chosen(kDefaultDisk, 0), Storage::memory);
}

TEST(StorageChoice, WhatNobodyAskedForStaysInMemoryHoweverLittleThatIs) {
  EXPECT_EQ(chosen(0, 64 * kMib), Storage::memory);
}

TEST(StorageChoice, MoreThanOneGibibyteGoesToThePool) {
  EXPECT_EQ(chosen(kGib, 64 * kGib), Storage::memory);
  EXPECT_EQ(chosen(kGib + kMib, 64 * kGib), Storage::pool);
  EXPECT_EQ(chosen(20 * kGib, 0), Storage::pool);
}

TEST(StorageChoice, MoreThanHalfOfTheMemoryGoesToThePool) {
  EXPECT_EQ(chosen(128 * kMib, 256 * kMib), Storage::memory);
  EXPECT_EQ(chosen(129 * kMib, 256 * kMib), Storage::pool);
}

TEST(StorageChoice, WithoutAPoolItIsMemoryAndSaysWhatIsMissing) {
  const auto choice = choose_storage(20 * kGib, 0, Authority::root, no_mkfs);

  EXPECT_EQ(choice.storage, Storage::memory);
  EXPECT_THAT(choice.reason, HasSubstr("mkfs.btrfs is not installed (apt install btrfs-progs)"));
}

TEST(StorageChoice, WithoutRootItIsMemory) {
  const auto choice = choose_storage(20 * kGib, 0, Authority::rootless, none);

  EXPECT_EQ(choice.storage, Storage::memory);
  EXPECT_THAT(choice.reason, HasSubstr("needs root"));
}

}  // namespace
}  // namespace atl::native
