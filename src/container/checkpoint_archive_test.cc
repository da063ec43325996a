#include "container/checkpoint_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/tar.h"

namespace atl::container {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPlace =
    R"("mounts":[{"destination":"/dev/shm","type":"bind","source":"/first/shm"},)"
    R"({"destination":"/etc/passwd","type":"bind","source":"/first/passwd"},)"
    R"({"destination":"/tmp","type":"tmpfs","source":"tmpfs"},)"
    R"({"destination":"/opt/atoll/door","type":"bind","source":"/doors/first"},)"
    R"({"destination":"/opt/atoll/agent","type":"bind","source":"/old/agent"}],)"
    R"("linux":{"resources":{"memory":{"limit":1},"pids":{"limit":2}},"seccomp":{"kept":true}})";
const std::string kConfig = R"({"name":"first","labels":{"atoll.sandbox":"first",)"
                            R"("atoll.driver":"podman"},"spec":{)" +
                            kPlace + "}}";
const std::string kSpec = "{" + kPlace + R"(,"hostname":"first"})";
const std::string kPages(1500, 'p');

std::string file(const std::string& path, const std::string& content) {
  TarEntry entry;
  entry.path = path;
  entry.size = content.size();
  entry.mode = 0600;
  return tar_header(entry) + content + tar_padding(content.size());
}

std::string archive(const std::string& config, const std::string& spec) {
  return file("config.dump", config) + file("checkpoint/pages-1.img", kPages) +
         file("spec.dump", spec) + tar_end();
}

ContainerSpec second() {
  ContainerSpec made;
  made.sandbox_id = "second";
  made.instance = "/here";
  made.door = "/doors/second";
  made.agent = "/new/agent";
  made.memory_bytes = 64 << 20;
  made.pids = 7;
  made.nano_cpus = 500'000'000;
  return made;
}

Result<std::string> pass(const std::string& text, size_t at_once) {
  CheckpointArchive passing(second());
  std::string out;
  for (size_t i = 0; i < text.size(); i += at_once) {
    TRY(const auto piece, passing.pass(std::string_view(text).substr(i, at_once)));
    out += piece;
  }
  TRY_OK(passing.finish());
  return out;
}

class Files final : public TarSink {
 public:
  Result<> begin(const TarEntry& entry) override {
    name_ = entry.path;
    return {};
  }
  Result<> bytes(std::string_view bytes) override {
    found[name_] += bytes;
    return {};
  }
  Result<> end() override { return {}; }

  std::map<std::string, std::string> found;

 private:
  std::string name_;
};

TEST(CheckpointArchive, BecomesTheSecondContainersHoweverItIsCut) {
  for (const size_t at_once : {size_t{1}, size_t{511}, size_t{513}, size_t{1} << 20}) {
    const auto passed = pass(archive(kConfig, kSpec), at_once);
    ASSERT_TRUE(passed) << passed.error().message();
    Files files;
    TarReader reader(files);
    ASSERT_TRUE(reader.put(*passed)) << at_once;
    ASSERT_TRUE(reader.finish()) << at_once;

    EXPECT_EQ(files.found["checkpoint/pages-1.img"], kPages);
    EXPECT_THAT(files.found["config.dump"],
                HasSubstr(R"("labels":{"atoll.sandbox":"second","atoll.driver":"podman",)"
                          R"("atoll.instance":"/here","atoll.own-clock":"yes"})"));
    EXPECT_THAT(files.found["spec.dump"], HasSubstr(R"("hostname":"first")"));
    for (const char* name : {"config.dump", "spec.dump"}) {
      const std::string& text = files.found[name];
      EXPECT_THAT(text, HasSubstr(R"("source":"/doors/second")"));
      EXPECT_THAT(text, HasSubstr(R"("source":"/new/agent")"));
      EXPECT_THAT(text, HasSubstr(R"("memory":{"limit":67108864,"swap":67108864})"));
      EXPECT_THAT(text, HasSubstr(R"("pids":{"limit":7})"));
      EXPECT_THAT(text, HasSubstr(R"("cpu":{"quota":50000,"period":100000})"));
      EXPECT_THAT(text, HasSubstr(R"("seccomp":{"kept":true})"));
      // Its shared memory and its files would be the first one's, too.
      EXPECT_THAT(text, Not(HasSubstr("/first/")));
      EXPECT_THAT(text, HasSubstr(R"("destination":"/tmp")"));
    }
  }
}

// Of a member that is too large for octal text, without its content.
constexpr uint64_t kLarge = (uint64_t{9} << 30) + 1000;
constexpr size_t kSizeAt = 124, kSizeBytes = 12, kTypeAt = 156;

std::string in_base_256(uint64_t size) {
  TarEntry entry;
  entry.path = "checkpoint/pages-1.img";
  std::string header = tar_header(entry);
  for (size_t i = kSizeAt + kSizeBytes; i-- > kSizeAt; size >>= 8)
    header[i] = static_cast<char>(size & 0xFF);
  header[kSizeAt] = '\x80';
  return header;
}

std::string in_records(const std::string& records) {
  std::string extended = file("PaxHeaders.0/pages-1.img", records);
  extended[kTypeAt] = 'x';
  TarEntry entry;
  entry.path = "checkpoint/pages-1.img";
  return extended + tar_header(entry);
}

TEST(CheckpointArchive, HasMembersOfAnySize) {
  TarEntry as_we_write_it;
  as_we_write_it.path = "checkpoint/pages-1.img";
  as_we_write_it.size = kLarge;
  for (const std::string& header :
       {in_base_256(kLarge), tar_header(as_we_write_it),
        in_records("13 mtime=1.5\n19 size=" + std::to_string(kLarge) + "\n")}) {
    CheckpointArchive passing(second());
    ASSERT_TRUE(passing.pass(file("config.dump", kConfig)));

    const auto passed = passing.pass(header + std::string(1 << 20, 'p'));

    ASSERT_TRUE(passed) << passed.error().message();
    EXPECT_EQ(*passed, header + std::string(1 << 20, 'p'));
  }
}

TEST(CheckpointArchive, FindsWhatFollowsAMemberWhicheverWayItsSizeIsTold) {
  for (const std::string& header : {in_base_256(kPages.size()), in_records("13 size=1500\n")}) {
    const std::string member = header + kPages + tar_padding(kPages.size());
    for (const size_t at_once : {size_t{1}, size_t{513}, size_t{1} << 20}) {
      const auto passed = pass(
          file("config.dump", kConfig) + member + file("spec.dump", kSpec) + tar_end(), at_once);

      ASSERT_TRUE(passed) << passed.error().message();
      EXPECT_THAT(*passed, HasSubstr(member));
      EXPECT_THAT(passed->substr(passed->find(member)), HasSubstr("/doors/second"));
    }
  }
}

TEST(CheckpointArchive, RefusesASizeThatIsNone) {
  for (const std::string& member :
       {in_base_256(uint64_t{1} << 51), in_base_256(UINT64_MAX),
        in_records("29 size=18446744073709551615\n"), in_records("11 size=x1\n"),
        in_records("11 size=-1\n"), in_records("99 size=1\n"), in_records("3 size=1\n"),
        in_records("size=1\n"), in_records("25 size=1125899906842625\n"),
        // A description has no such size, and neither has what would tell of another.
        in_records("10 size=1\n").substr(0, 1024) + file("config.dump", kConfig),
        in_records("10 size=1\n").substr(0, 1024) + in_records("10 size=1\n")}) {
    CheckpointArchive passing(second());

    EXPECT_FALSE(passing.pass(member)) << member.substr(512, 40);
  }
  CheckpointArchive passing(second());
  EXPECT_TRUE(passing.pass(in_records("10 size=1\n")));
}

TEST(CheckpointArchive, IsRefusedWhereItIsNotWhatPodmanExports) {
  const std::string elsewhere = R"({"mounts":[],"linux":{"resources":{}}})";
  EXPECT_FALSE(pass(archive(kConfig, elsewhere), 512));
  EXPECT_FALSE(pass(archive(kConfig, "no JSON"), 512));
  EXPECT_FALSE(pass(file("config.dump", kConfig) + tar_end(), 512));
  EXPECT_FALSE(pass(archive(kConfig, kSpec).substr(0, 4096), 512));
  std::string large = archive(kConfig, kSpec);
  large[124] = '\x80';  // a number that is no text
  EXPECT_FALSE(pass(large, 512));
}

}  // namespace
}  // namespace atl::container
