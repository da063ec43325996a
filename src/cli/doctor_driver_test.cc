#include "cli/doctor_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/json_view.h"
#include "config/kinds.h"

namespace atl::cli {
namespace {

using native::HostCheck;
using native::Need;
using native::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kBuilt = {"native", "rootless", "subprocess", "local"};

std::vector<HostCheck> host() {
  return {{"kernel", Verdict::ok, Need::required, "Linux 6.12", "everything", ""},
          {"kvm", Verdict::missing, Need::optional, "no /dev/kvm", "vm", "modprobe kvm"},
          {"docker", Verdict::weak, Need::optional, "not running", "containers", "start docker"},
          {"runc", Verdict::ok, Need::optional, "/usr/bin/runc", "containers", ""}};
}

std::vector<std::string> names_of(const std::vector<HostCheck>& checks) {
  std::vector<std::string> names;
  for (const HostCheck& check : checks) names.push_back(check.name);
  return names;
}

TEST(DoctorDriver, EveryKindOfAConfigurationHasAName) {
  for (const std::string& kind : config::kind_names()) {
    EXPECT_EQ(find_driver_kind(kind, kBuilt), kind);
  }
  EXPECT_EQ(find_driver_kind("k8s", kBuilt), "kubernetes");
  EXPECT_EQ(find_driver_kind("plugged-in", {"plugged-in"}), "plugged-in");
  EXPECT_EQ(find_driver_kind("dokcer", kBuilt), std::nullopt);
}

TEST(DoctorDriver, EachNeedsItsOwnPartsOfTheHost) {
  EXPECT_THAT(names_of(checks_for("native", host())), ElementsAre("kernel"));
  EXPECT_THAT(names_of(checks_for("docker", host())), ElementsAre("docker", "runc"));
  EXPECT_THAT(names_of(checks_for("firecracker", host())), ElementsAre("kvm"));
  EXPECT_THAT(names_of(checks_for("e2b", host())), ElementsAre());
}

TEST(DoctorDriver, NoneOfOurOwnListsWhatItDoesWithout) {
  std::vector<HostCheck> all;
  for (const char* name : {"kernel", "cgroups", "user_namespaces", "landlock", "overlay",
                           "storage_pool", "file_watches", "atoll-agent", "atoll-pool"}) {
    all.push_back({name, Verdict::ok, Need::required, "", "", ""});
  }

  EXPECT_THAT(names_of(checks_for("native", all)), testing::SizeIs(all.size()));
  EXPECT_THAT(names_of(checks_for("chroot", all)),
              ElementsAre("kernel", "user_namespaces", "landlock", "atoll-agent"));
  EXPECT_THAT(names_of(checks_for("subprocess", all)),
              ElementsAre("kernel", "landlock", "atoll-agent"));
  EXPECT_THAT(names_of(checks_for("local", all)),
              ElementsAre("kernel", "file_watches", "atoll-agent"));
}

TEST(DoctorDriver, OneThatIsNotBuiltSaysSoAndWhatTheHostLacks) {
  DriverReport report{.version = "1", .user = "root", .name = "docker"};
  report.level = "container";
  report.instead = "native";
  report.checks = checks_for("docker", host());

  const std::string text = to_text(report, Paint::plain);

  EXPECT_FALSE(report.is_fit());
  EXPECT_THAT(text, HasSubstr("this Atoll has no driver for it"));
  EXPECT_THAT(text, HasSubstr("atoll run --driver native -- COMMAND"));
  EXPECT_THAT(text, HasSubstr("! weak    docker"));
  EXPECT_THAT(text, HasSubstr("# docker, for containers\nstart docker\n"));
  EXPECT_THAT(text, Not(HasSubstr("modprobe")));
}

TEST(DoctorDriver, OneThatIsHereIsTriedAndToldInJson) {
  DriverReport report{.version = "1", .user = "root", .name = "local", .is_built = true};
  const auto driver = json::parse(
      R"({"name":"local","available":true,"capabilities":{"isolation":"none"},"summary":"the host"})");
  ASSERT_TRUE(driver);
  report.driver = *driver;
  report.tryout = {.ran = true, .ms = 2, .trouble = "", .hint = ""};

  const auto told = json::parse(to_json(report));

  ASSERT_TRUE(told);
  EXPECT_TRUE(flag_at(*told, "ok"));
  EXPECT_TRUE(flag_at(*told, "tryout.ok"));
  EXPECT_EQ(text_at(*told, "driver.name"), "local");
  EXPECT_THAT(to_text(report, Paint::plain), HasSubstr("ran a command in 2.0 ms"));
}

}  // namespace
}  // namespace atl::cli
