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
