#include "core/request_check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// The message of the refusal, or "" when the request is fine.
std::string refusal(const CreateRequest& request) {
  const auto checked = check_create(request, EngineOptions());
  if (checked) return "";
  EXPECT_EQ(checked.error().code(), Code::invalid_argument);
  return checked.error().message();
}

template <typename Change>
std::string refusal_of(Change change) {
  CreateRequest request;
  change(request);
  return refusal(request);
}

TEST(RequestCheck, AnEmptyRequestIsFine) { EXPECT_EQ(refusal({}), ""); }

TEST(RequestCheck, TimesArePositiveAndBounded) {
  EXPECT_THAT(refusal_of([](auto& r) { r.ttl = seconds(0); }),
              HasSubstr("ttl_s: 0 is no time to live"));
  EXPECT_THAT(refusal_of([](auto& r) { r.ttl = seconds(-1); }), HasSubstr("ttl_s"));
  EXPECT_THAT(refusal_of([](auto& r) { r.ttl = seconds(691'200); }),
              HasSubstr("ttl_s: 8 days is longer than the 7 days that a sandbox may live"));
  EXPECT_THAT(refusal_of([](auto& r) { r.ttl = seconds(604'801); }), HasSubstr("604801 seconds"));
  EXPECT_EQ(refusal_of([](auto& r) { r.ttl = seconds(604'800); }), "");
  EXPECT_THAT(refusal_of([](auto& r) { r.idle = seconds(0); }), HasSubstr("idle_s"));
  EXPECT_THAT(refusal_of([](auto& r) { r.idle = seconds::max(); }), HasSubstr("idle_s"));
}

TEST(RequestCheck, ResourcesArePositiveAndSane) {
  for (const double cpu : {0.0, -1.0, 1025.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(refusal_of([&](auto& r) { r.resources.cpu = cpu; }), HasSubstr("resources.cpu"));
  }
  for (const int64_t bad : {int64_t{0}, int64_t{-5}, INT64_MAX}) {
    EXPECT_THAT(refusal_of([&](auto& r) { r.resources.memory_mb = bad; }), HasSubstr("memory_mb"));
    EXPECT_THAT(refusal_of([&](auto& r) { r.resources.pids = bad; }), HasSubstr("pids"));
    EXPECT_THAT(refusal_of([&](auto& r) { r.resources.disk_mb = bad; }), HasSubstr("disk_mb"));
  }
  EXPECT_EQ(refusal_of([](auto& r) { r.resources = {0.1, 64, 32, 100}; }), "");
}

TEST(RequestCheck, AWeightIsBoundedAndMeansBurstable) {
  const auto weigh = [](int64_t weight, std::optional<Sharing> sharing) {
    return refusal_of([&](auto& r) {
      r.resources.cpu_weight = weight;
      r.resources.sharing = sharing;
    });
  };

  EXPECT_EQ(weigh(1, std::nullopt), "");
  EXPECT_EQ(weigh(10'000, Sharing::burstable), "");
  EXPECT_THAT(weigh(0, std::nullopt), HasSubstr("resources.cpu_weight"));
  EXPECT_THAT(weigh(10'001, std::nullopt), HasSubstr("10000"));
  EXPECT_THAT(weigh(100, Sharing::shared), HasSubstr("burstable"));
  EXPECT_THAT(weigh(100, Sharing::dedicated), HasSubstr("burstable"));
  EXPECT_THAT(weigh(100, Sharing::limited), HasSubstr("burstable"));
}

TEST(RequestCheck, DedicatedProcessorsAreWholeOnes) {
  const auto dedicate = [](std::optional<double> cpu) {
    return refusal_of([&](auto& r) {
      r.resources.cpu = cpu;
      r.resources.sharing = Sharing::dedicated;
    });
  };

  EXPECT_EQ(dedicate(2), "");
  EXPECT_THAT(dedicate(1.5), HasSubstr("resources.cpu"));
  EXPECT_THAT(dedicate(std::nullopt), HasSubstr("resources.cpu"));
}

TEST(RequestCheck, AResizeChangesSomethingAndNotWhoseTheProcessorsAre) {
  EXPECT_TRUE(check_resize({.memory_mb = 64}));
  EXPECT_EQ(check_resize({}).error().message(), "resources: nothing is to be changed");
  EXPECT_THAT(check_resize({.sharing = Sharing::dedicated}).error().message(),
              HasSubstr("resources.sharing"));
  EXPECT_FALSE(check_resize({.memory_mb = 0}));
}

TEST(RequestCheck, UserAndWorkingDirectoryAreBounded) {
  EXPECT_EQ(refusal_of([](auto& r) { r.defaults = {"root", "/tmp"}; }), "");
  EXPECT_THAT(refusal_of([](auto& r) { r.defaults.user = std::string(257, 'u'); }),
              HasSubstr("user"));
  EXPECT_THAT(refusal_of([](auto& r) { r.defaults.cwd = std::string("/a\0b", 4); }),
              HasSubstr("cwd"));
}

TEST(RequestCheck, LabelsAreFewAndShort) {
  EXPECT_EQ(refusal_of([](auto& r) { r.labels = {{"app.io/team", "blue"}}; }), "");
  EXPECT_THAT(refusal_of([](auto& r) { r.labels = {{"", "x"}}; }), HasSubstr("labels"));
  EXPECT_THAT(refusal_of([](auto& r) { r.labels = {{"a b", "x"}}; }), HasSubstr("a b"));
  EXPECT_THAT(refusal_of([](auto& r) { r.labels = {{std::string(64, 'k'), "x"}}; }),
              HasSubstr("63"));
  EXPECT_THAT(refusal_of([](auto& r) { r.labels = {{"k", std::string(257, 'v')}}; }),
              HasSubstr("labels.k"));
  EXPECT_THAT(refusal_of([](auto& r) { r.labels = {{"k", "\xff"}}; }), HasSubstr("labels.k"));
  EXPECT_THAT(refusal_of([](auto& r) {
                for (int i = 0; i < 65; ++i) r.labels["k" + std::to_string(i)] = "v";
              }),
              HasSubstr("there are 65"));
}

TEST(RequestCheck, EnvironmentNamesAreCleanAndValuesAreNotShown) {
  EXPECT_THAT(refusal_of([](auto& r) { r.env = {{"A=B", "x"}}; }), HasSubstr("A=B"));
  EXPECT_THAT(refusal_of([](auto& r) { r.env = {{"", "x"}}; }), HasSubstr("no name"));
  EXPECT_THAT(refusal_of([](auto& r) { r.env = {{std::string("A\0B", 3), "x"}}; }),
              HasSubstr("NUL"));
  const auto secret = refusal_of([](auto& r) { r.env = {{"KEY", std::string("secret\0x", 8)}}; });
  EXPECT_THAT(secret, HasSubstr("env.KEY"));
  EXPECT_THAT(secret, Not(HasSubstr("secret")));
  EXPECT_THAT(refusal_of([](auto& r) { r.env = {{"A", std::string(600'000, 'x')}}; }),
              HasSubstr("bytes"));
  EXPECT_THAT(refusal_of([](auto& r) {
                for (int i = 0; i < 1001; ++i) r.env["k" + std::to_string(i)] = "v";
              }),
              HasSubstr("1001 variables"));
}

TEST(RequestCheck, NamesAndUsersAreText) {
  EXPECT_THAT(refusal_of([](auto& r) { r.name = "No Good"; }), HasSubstr("name"));
  EXPECT_THAT(refusal_of([](auto& r) { r.name = std::string(64, 'a'); }), HasSubstr("name"));
  EXPECT_THAT(refusal_of([](auto& r) { r.user_id = std::string(257, 'a'); }), HasSubstr("user_id"));
  EXPECT_THAT(refusal_of([](auto& r) { r.user_id = "a\nb"; }), HasSubstr("user_id"));
}

TEST(RequestCheck, AHostDirectoryIsOpenAndItsPlaceAbsolute) {
  EXPECT_THAT(
      refusal_of([](auto& r) { r.mounts.push_back({Fd(), "/tmp", "/data", HostAccess::ro}); }),
      HasSubstr("not open"));
  const Fd open(::open("/", O_PATH | O_CLOEXEC));
  for (const char* path : {"data", "/data/../etc", ""}) {
    EXPECT_THAT(refusal_of([&](auto& r) {
                  r.mounts.push_back({open.duplicate().value(), "/tmp", path, HostAccess::ro});
                }),
                HasSubstr("absolute"));
  }
}

TEST(RequestCheck, ASizeIsRefusedWithItsUnit) {
  EXPECT_THAT(refusal_of([](auto& r) { r.resources.memory_mb = INT64_MAX; }), HasSubstr(" MiB"));
  EXPECT_THAT(refusal_of([](auto& r) { r.resources.disk_mb = INT64_MAX; }), HasSubstr(" MiB"));
}

TEST(RequestCheck, AnImageHasANameThatCanStandInAPath) {
  const std::string digest = "a.example:5000/team/tool@sha256:" + std::string(62, '0') + "ff";
  for (const std::string& name :
       {std::string("debian"), std::string("debian:12"), std::string("Host.example:5000/tool:RC1"),
        std::string("a/b_c.d--e:1.0_"), digest}) {
    EXPECT_EQ(refusal_of([&](auto& r) { r.image = name; }), "") << name;
  }
  for (const char* name : {"../x", "-v", "/etc", "a b", "a?b", "a%2fb", "a\nb", "a@sha256:1234",
                           "a@latest", "Debian", "Team/tool", "host.example/Tool:1", "x/../../info",
                           "other:1/../../containers/json", "a//b", "a/", "a/./b", "a/-b"}) {
    EXPECT_THAT(refusal_of([&](auto& r) { r.image = name; }), HasSubstr("image: ")) << name;
  }
  EXPECT_THAT(refusal_of([](auto& r) { r.image = std::string(257, 'a'); }), HasSubstr("image: "));
  EXPECT_THAT(refusal_of([](auto& r) { r.runtime = "a/b"; }), HasSubstr("runtime: "));
}

TEST(RequestCheck, AnExecHasACommandAndNoNul) {
  const auto check = [](std::vector<std::string> argv) {
    ExecRequest request;
    request.argv = std::move(argv);
    return check_exec(request).has_value();
  };

  EXPECT_TRUE(check({"echo", ""}));
  EXPECT_FALSE(check({}));
  EXPECT_FALSE(check({""}));
  EXPECT_FALSE(check({"echo", std::string("a\0b", 3)}));
  EXPECT_FALSE(check(std::vector<std::string>(5'000, "x")));
  EXPECT_FALSE(check({"echo", std::string(2'000'000, 'x')}));
}

}  // namespace
}  // namespace atl
