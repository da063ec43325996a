#include "drivers/extension/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "drivers/extension/grants.h"
#include "drivers/extension/settings.h"
#include "json/write.h"
#include "os/file.h"

namespace atl::extension {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kGood = R"(name: mine
version: "1.0"
protocol: 1
summary: sandboxes of mine
socket: /run/mine.sock
capabilities:
  isolation: container
  placement: host
  limits: {disk: enforced}
configuration:
  type: object
  required: [region]
  properties:
    region: {type: string, enum: [eu, us]}
    disk_mb: {type: integer, minimum: 16, maximum: 1024, default: 256}
    token: {type: string, maxLength: 8, writeOnly: true}
)";

Result<Manifest> parse(const std::string& text) {
  return parse_manifest(text, "mine.yaml", {"native", "docker"});
}

std::string with(std::string_view old_line, std::string_view new_line) {
  std::string text = kGood;
  const size_t at = text.find(old_line);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, old_line.size(), new_line);
}

TEST(Manifest, SaysWhatAnExtensionIs) {
  const auto manifest = parse(kGood);

  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->name, "mine");
  EXPECT_EQ(manifest->capabilities.limits.disk, Limit::enforced);
  EXPECT_EQ(manifest->capabilities.pause, Pause::none);
}

TEST(Manifest, IsRefusedWithItsLine) {
  const struct {
    std::string text;
    std::string says;
  } cases[] = {
      {with("name: mine", "name: native"), "mine.yaml:1: name: native is a driver of Atoll's own"},
      {with("name: mine", "name: Mine"), "mine.yaml:1: name"},
      {with("protocol: 1", "protocol: 2"), "mine.yaml:3: protocol: 2 is not spoken here"},
      {with("socket: /run/mine.sock", "socket: mine.sock"), "mine.yaml:5: socket"},
      {with("socket: /run/mine.sock", "command: [./mine]"), "Atoll starts no extension"},
      {with("  isolation: container", "  isolation: perfect"), "mine.yaml:7"},
      {with("  placement: host\n", ""), "placement"},
      {with("  placement: host", "  placement: host\n  network: rules"), "network"},
      {with("  placement: host", "  placement: host\n  fork: true"), "unknown field"},
      {with("  type: object", "  type: array"), "configuration.type"},
      {with("minimum: 16", "multipleOf: 16"), "multipleOf"},
      {with("[region]", "[place]"), "required"},
      {with("default: 256", "default: 8"), "too small"},
  };
  for (const auto& one : cases) {
    const auto manifest = parse(one.text);
    ASSERT_FALSE(manifest) << one.says;
    EXPECT_THAT(manifest.error().message(), HasSubstr(one.says));
  }
}

TEST(Settings, AreCheckedAndCompleted) {
  const auto manifest = parse(kGood);
  ASSERT_TRUE(manifest);
  const json::Value& schema = manifest->configuration;
  const auto written = [&](std::vector<std::string> words) -> Result<json::Value> {
    TRY(const auto values, parse_settings(schema, words));
    return complete(schema, values);
  };

  const auto good = written({"region=eu", "token=hidden"});
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->at("disk_mb").as_int64(), 256);
  std::string shown;
  json::write_value(shown, without_secrets(schema, *good));
  EXPECT_THAT(shown, HasSubstr("(hidden)"));
  EXPECT_EQ(shown.find("\"hidden\""), std::string::npos);

  EXPECT_THAT(written({}).error().hint(), HasSubstr("--set region="));
  EXPECT_FALSE(written({"region=mars"}));
  EXPECT_FALSE(written({"region=eu", "disk_mb=8"}));
  EXPECT_FALSE(written({"region=eu", "disk_mb=many"}));
  EXPECT_FALSE(written({"region=eu", "color=blue"}));
  EXPECT_FALSE(written({"region=eu", "token=far too long"}));
  EXPECT_FALSE(written({"region"}));
}

class GrantsTest : public testing::Test {
 protected:
  GrantsTest() { EXPECT_NE(mkdtemp(state_.data()), nullptr); }
  ~GrantsTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, state_)); }

  Grant grant(const std::string& name) {
    Grant made;
    made.manifest = *parse(kGood);
    made.manifest.name = name;
    made.uid = 1000;
    made.trust_isolation = Isolation::process;
    made.settings = json::Object{{"region", "eu"}};
    return made;
  }

  std::string state_ = "/tmp/atoll-grants-XXXXXX";
};

TEST_F(GrantsTest, AreKeptAndRemoved) {
  ASSERT_TRUE(write_grant(state_, grant("mine")));
  ASSERT_TRUE(write_grant(state_, grant("yours")));

  const auto read = read_grants(state_, {"native"});
  ASSERT_THAT(read.grants, SizeIs(2));
  EXPECT_THAT(read.unreadable, IsEmpty());
  EXPECT_EQ(read.grants[0].manifest.name, "mine");
  EXPECT_EQ(read.grants[0].uid, 1000u);
  EXPECT_EQ(read.grants[0].trust_isolation, Isolation::process);
  EXPECT_EQ(read.grants[0].settings.at("disk_mb").as_int64(), 256);
  struct stat info{};
  ASSERT_EQ(stat((state_ + "/extensions/mine.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);

  EXPECT_TRUE(remove_grant(state_, "mine"));
  EXPECT_EQ(remove_grant(state_, "mine").error().code(), Code::not_found);
  EXPECT_EQ(remove_grant(state_, "../x").error().code(), Code::not_found);
  EXPECT_THAT(read_grants(state_, {}).grants, SizeIs(1));
}

TEST_F(GrantsTest, OneThatIsBrokenDoesNotHideTheOthers) {
  ASSERT_TRUE(write_grant(state_, grant("mine")));
  ASSERT_TRUE(write_grant(state_, grant("native")));
  const auto directory = os::open_at(AT_FDCWD, state_ + "/extensions", O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(os::replace_file(directory->get(), "broken.json", "{", 0600));

  const auto read = read_grants(state_, {"native"});

  EXPECT_THAT(read.grants, SizeIs(1));
  EXPECT_THAT(read.unreadable, SizeIs(2)) << "what is no JSON, and what has a name of ours";
}

TEST_F(GrantsTest, NoneIsNoTrouble) {
  const auto read = read_grants(state_ + "/nowhere", {});
  EXPECT_THAT(read.grants, IsEmpty());
  EXPECT_THAT(read.unreadable, IsEmpty());
}

}  // namespace
}  // namespace atl::extension
