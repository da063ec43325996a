#include "native/launcher/record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/file.h"

namespace atl::native {
namespace {

TEST(Record, IsReadBackByASuccessorAndByNobodyElse) {
  char path[] = "/tmp/atoll-record-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  auto directory = os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY).value();
  const Record record{
      "sbx1", "local",           "boot", 4711, 99, std::string(32, '\x01'), Micros(5), true,
      "0-1",  uint64_t{20} << 30};

  ASSERT_TRUE(save_record(directory.get(), record).has_value());
  const auto loaded = load_record(directory.get());

  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->pid, 4711);
  EXPECT_EQ(loaded->token, record.token);
  EXPECT_EQ(loaded->expires_at, Micros(5));
  EXPECT_EQ(loaded->pool_bytes, record.pool_bytes);
  struct stat info{};
  ASSERT_EQ(fstatat(directory.get(), kRecordFile, &info, 0), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(os::remove_tree(AT_FDCWD, path).has_value());
}

TEST(Record, AMalformedOneIsRefused) {
  char path[] = "/tmp/atoll-record-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  auto directory = os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY).value();
  ASSERT_TRUE(os::replace_file(directory.get(), kRecordFile, "garbage", 0600).has_value());

  EXPECT_FALSE(load_record(directory.get()).has_value());
  EXPECT_TRUE(os::remove_tree(AT_FDCWD, path).has_value());
}

}  // namespace
}  // namespace atl::native
