#include "agent/own_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace atl::agent {
namespace {

namespace fs = std::filesystem;

// What a container finds at /sys/fs/cgroup.
class Groups {
 public:
  Groups() {
    char path[] = "/tmp/atoll-groups-XXXXXX";
    if (mkdtemp(path) != nullptr) path_ = path;
  }
  ~Groups() { fs::remove_all(path_); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  void write(const std::string& file, const std::string& text) {
    const fs::path path = fs::path(path_) / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<OwnUse> read() const { return read_own_use(path_); }

 private:
  std::string path_;
};

TEST(OwnGroup, TellsAsVersion2Does) {
  Groups groups;
  groups.write("memory.current", "104857600\n");
  groups.write("memory.max", "max\n");
  groups.write("cpu.stat", "usage_usec 123456\nuser_usec 100000\nsystem_usec 23456\n");

  const auto use = groups.read();

  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->memory_bytes, 104'857'600u);
  EXPECT_EQ(use->cpu_us, 123'456u);
}

TEST(OwnGroup, TellsAsVersion1Does) {
  for (const char* tree : {"cpuacct", "cpu,cpuacct"}) {
    Groups groups;
    groups.write("memory/memory.usage_in_bytes", "104857600\n");
    groups.write("memory/memory.limit_in_bytes", "2147483648\n");
    groups.write(std::string(tree) + "/cpuacct.usage", "123456789\n");

    const auto use = groups.read();

    ASSERT_TRUE(use.has_value()) << tree;
    EXPECT_EQ(use->memory_bytes, 104'857'600u);
    EXPECT_EQ(use->cpu_us, 123'456u) << tree;
  }
}

// A limit is what makes a group of version 1 the container's own, and not that of the whole host.
TEST(OwnGroup, IsNotTheWholeHosts) {
  Groups groups;
  groups.write("memory/memory.usage_in_bytes", "104857600\n");
  EXPECT_FALSE(groups.read().has_value());
  groups.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(groups.read().has_value());
}

TEST(OwnGroup, UsesNoMoreThanItMay) {
  Groups groups;
  groups.write("memory.current", "4611686018427387903\n");
  groups.write("memory.max", "2147483648\n");
  groups.write("cpu.stat", "user_usec 1\n");

  const auto use = groups.read();

  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->memory_bytes, 2'147'483'648u);
  EXPECT_EQ(use->cpu_us, std::nullopt);
}

TEST(OwnGroup, TellsNothingWhereThereIsNoNumber) {
  EXPECT_FALSE(Groups().read().has_value());
  for (const char* text : {"", "\n", "max\n", "-1\n", "12x\n", " 12\n", "99999999999999999999999\n",
                           "4611686018427387904\n"}) {
    Groups groups;
    groups.write("memory.current", text);
    EXPECT_FALSE(groups.read().has_value()) << text;
  }
}

// It is asked of a container's first process alone: here it would be somebody else's.
TEST(OwnGroup, IsNobodysWhoIsNotTheFirstProcess) {
  if (getpid() == 1) GTEST_SKIP() << "this is the first process";
  EXPECT_FALSE(find_own_use().has_value());
}

}  // namespace
}  // namespace atl::agent
