#include "core/profile_use.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine_world_internal.h"
#include "json/json.h"

namespace atl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<const policy::Profiles> profiles(std::string text) {
  const std::vector<policy::ProfileText> texts{{"t.yaml", "profiles:\n" + std::move(text)}};
  return policy::Profiles::load(texts).value();
}

class ProfileUseTest : public ::testing::Test {
 protected:
  void start(std::string text) {
    world_.options.profiles = profiles(std::move(text));
    world_.start();
  }
  static CreateRequest with(std::string profile) {
    CreateRequest request;
    request.profile = std::move(profile);
    return request;
  }

  EngineWorld world_;
};

struct Meeting {
  std::optional<Isolation> asked;
  Isolation given;
};
class FloorTest : public ::testing::TestWithParam<Meeting> {};

TEST_P(FloorTest, OfTwoFloorsTheHigherHolds) {
  CreateRequest request;
  request.profile = "team";
  request.min_isolation = GetParam().asked;

  ASSERT_TRUE(settle_profile(request, *policy::Profiles::built_in(), Lifecycle::session));

  EXPECT_EQ(request.min_isolation, GetParam().given);
}

INSTANTIATE_TEST_SUITE_P(Levels, FloorTest,
                         ::testing::Values(Meeting{std::nullopt, Isolation::container},
                                           Meeting{Isolation::none, Isolation::container},
                                           Meeting{Isolation::process, Isolation::container},
                                           Meeting{Isolation::container, Isolation::container},
                                           Meeting{Isolation::sentry, Isolation::sentry},
                                           Meeting{Isolation::vm, Isolation::vm}));

TEST(ProfileUse, OfTwoPlacementsTheNearerHolds) {
  for (const auto& [asked, given] :
       {std::pair{Placement::host, Placement::host}, std::pair{Placement::own, Placement::own},
        std::pair{Placement::third_party, Placement::own}}) {
    CreateRequest request;
    request.placement = asked;
    merge_profile(request, policy::Profiles::built_in()->get("team").value()->profile);
    EXPECT_EQ(request.placement, given);
  }
}

TEST(ProfileUse, TheRequestSpeaksFirst) {
  const auto known = profiles(
      "  p: {ttl: 1h, idle: 1m, timeout: 5s, user: a, workdir: /w, env: {A: p, B: p}, labels: {l: "
      "p},"
      " image: img, resources: {cpus: 2, memory: 1g, pids: 5}}\n");
  CreateRequest request;
  request.profile = "p";
  request.ttl = std::chrono::seconds(7);
  request.env = {{"A", "mine"}};
  request.resources.memory_mb = 99;
  request.defaults.user = "me";

  ASSERT_TRUE(settle_profile(request, *known, Lifecycle::session));

  EXPECT_EQ(request.profile, "p@1");
  EXPECT_EQ(request.ttl, std::chrono::seconds(7));
  EXPECT_EQ(request.idle, std::chrono::seconds(60));
  EXPECT_EQ(request.env.at("A"), "mine");
  EXPECT_EQ(request.env.at("B"), "p");
  EXPECT_EQ(request.labels.at("l"), "p");
  EXPECT_EQ(request.resources.memory_mb, 99);
  EXPECT_EQ(request.resources.cpu, 2);
  EXPECT_EQ(request.defaults, (ExecDefaults{"me", "/w", Millis(5'000)}));
  EXPECT_EQ(request.image, "img");
}

TEST(ProfileUse, TheSameAgainChangesNothing) {
  CreateRequest once;
  once.profile = "python";
  ASSERT_TRUE(settle_profile(once, *policy::Profiles::built_in(), Lifecycle::session));
  const Asked before = to_asked(once);

  ASSERT_TRUE(settle_profile(once, *policy::Profiles::built_in(), Lifecycle::session));

  EXPECT_EQ(json::encode(to_asked(once)), json::encode(before));
}

TEST(ProfileUse, AWeightOfTheRequestIsNotLostToSharing) {
  CreateRequest request;
  request.resources.cpu_weight = 200;
  merge_profile(request, policy::Profiles::built_in()->get("default").value()->profile);
  EXPECT_EQ(request.resources.sharing, std::nullopt);
}

TEST(ProfileUse, WithoutAProfileNothingIsAdded) {
  for (const char* none : {"", "none"}) {
    CreateRequest request;
    request.profile = none;
    ASSERT_TRUE(settle_profile(request, *policy::Profiles::built_in(), Lifecycle::session));
    EXPECT_EQ(request.resources, Resources{});
    EXPECT_EQ(request.min_isolation, std::nullopt);
    EXPECT_EQ(to_asked(request).profile, "none");
  }
}

TEST(ProfileUse, DirectoriesOfTheHostAreShownNoFurtherThanItSays) {
  const auto known = profiles(
      "  none-at-all: {workspace: isolated}\n  look: {workspace: ro}\n  copy: {workspace: cow}\n"
      "  all: {workspace: rw}\n");
  const auto allows = [&](const char* profile, HostAccess access) {
    CreateRequest request;
    request.profile = profile;
    HostDirectory directory;
    directory.host_path = "/src";
    directory.access = access;
    request.mounts.push_back(std::move(directory));
    return settle_profile(request, *known, Lifecycle::session).has_value();
  };

  EXPECT_FALSE(allows("none-at-all", HostAccess::ro));
  EXPECT_TRUE(allows("look", HostAccess::ro));
  EXPECT_FALSE(allows("look", HostAccess::cow));
  EXPECT_TRUE(allows("copy", HostAccess::cow));
  EXPECT_FALSE(allows("copy", HostAccess::rw));
  EXPECT_TRUE(allows("all", HostAccess::rw));
}

TEST_F(ProfileUseTest, ASandboxTellsItsProfileWithTheVersionAndItsRealLevel) {
  world_.add("strong", Isolation::sentry);
  start("  p@3: {min_isolation: container, timeout: 4s}\n");

  const auto made = world_.create(with("p"));

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->profile, "p@3");
  EXPECT_EQ(made->isolation, Isolation::sentry);
  const auto completed = world_.engine().complete({}, made->id, ExecRequest{.argv = {"x"}});
  EXPECT_EQ(completed->timeout, Millis(4'000));
  EXPECT_EQ(world_.create()->profile, "none");
}

TEST_F(ProfileUseTest, NoRequestGoesBelowItsProfile) {
  world_.add("weak", Isolation::process);
  world_.add("box", Isolation::container);
  start("  p: {min_isolation: container}\n");
  auto lower = with("p");
  lower.min_isolation = Isolation::process;
  auto by_name = with("p");
  by_name.driver = "weak";

  EXPECT_EQ(world_.create(std::move(lower))->driver, "box");
  const auto refused = world_.create(std::move(by_name));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("profile p@1"));
  EXPECT_THAT(refused.error().message(), HasSubstr("weak offers process, container was asked"));
}

TEST_F(ProfileUseTest, WhenTheStrongDriverIsGoneTheRequestFails) {
  world_.add("microvm", Isolation::vm).down();
  world_.add("box", Isolation::container);
  start("  p: {min_isolation: vm, drivers: [microvm, box]}\n");

  const auto refused = world_.create(with("p"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_THAT(world_.host(1).ids(), IsEmpty());
}

TEST_F(ProfileUseTest, NoProfileGoesBelowTheFloorOfMembers) {
  world_.add("local", Isolation::none);
  world_.options.members_floor = Isolation::container;
  start("  p: {min_isolation: none, drivers: [local], fallback: []}\n");
  Caller admin, member;
  admin.role = Role::admin;
  member.role = Role::member;

  EXPECT_TRUE(world_.run(world_.engine().create(admin, with("p"), {})));
  const auto refused = world_.run(world_.engine().create(member, with("p"), {}));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("only administrators"));
}

TEST_F(ProfileUseTest, ADriverHasTheLabelsOfTheProfileAndOfTheRequest) {
  world_.add("near");
  world_.add("far");
  world_.options.routing.labels = {{"near", {{"zone", "us"}}},
                                   {"far", {{"zone", "eu"}, {"gpu", ""}}}};
  start("  p: {driver_labels: {zone: eu}}\n");

  EXPECT_EQ(world_.create(with("p"))->driver, "far");
  CreateRequest more = with("p");
  more.driver_labels["disk"] = "fast";
  EXPECT_THAT(world_.create(std::move(more)).error().hint(),
              HasSubstr("far has no label disk=fast"));
  CreateRequest other = with("p");
  other.driver_labels["zone"] = "us";
  EXPECT_THAT(world_.create(std::move(other)).error().message(),
              HasSubstr("driver_labels: profile p@1 has zone=eu"));
}

TEST_F(ProfileUseTest, DriversComeInTheOrderOfTheProfile) {
  world_.add("a", Isolation::container);
  world_.add("b", Isolation::container).fail("create", Error(Code::unavailable, "busy"));
  world_.add("c", Isolation::container);
  start("  p: {drivers: [b], fallback: [c]}\n  q: {drivers: [c]}\n");

  EXPECT_EQ(world_.create(with("p"))->driver, "c");
  EXPECT_EQ(world_.create(with("q"))->driver, "c");
  EXPECT_EQ(world_.create()->driver, "a");
}

TEST_F(ProfileUseTest, ADriverThatLeavesTheNetworkOpenIsNotTaken) {
  world_.add("open", Isolation::container).capabilities.network = NetworkControl::none;
  start("  p: {network: none}\n");

  const auto refused = world_.create(with("p"));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("open cannot cut off the network"));
}

TEST_F(ProfileUseTest, ANetworkTakesAProfileThatAllowsItAndADriverThatHasIt) {
  world_.add("shut", Isolation::container).capabilities.network = NetworkControl::deny;
  auto& engine = world_.add("engine", Isolation::container).capabilities;
  engine.bridge = true;
  engine.network = NetworkControl::deny;
  start("  open: {network: bridge}\n  shut: {network: none}\n  silent: {ttl: 1m}\n");
  const auto ask = [&](std::string profile, std::optional<Network> network) {
    CreateRequest request = with(std::move(profile));
    request.network = network;
    return world_.create(std::move(request));
  };

  EXPECT_EQ(ask("open", {})->driver, "engine");
  EXPECT_EQ(ask("open", {})->network, Network::bridge);
  EXPECT_EQ(ask("open", Network::none)->driver, "shut");
  EXPECT_EQ(ask("open", Network::none)->network, Network::none);
  for (const char* profile : {"shut", "silent", ""}) {
    const auto refused = ask(profile, Network::bridge);
    ASSERT_FALSE(refused) << profile;
    EXPECT_EQ(refused.error().code(), Code::permission_denied);
    EXPECT_THAT(refused.error().message(), HasSubstr("takes a profile that allows it, and "));
    EXPECT_THAT(refused.error().message(),
                HasSubstr(*profile == 0 ? "none is named" : " does not"));
  }
}

TEST_F(ProfileUseTest, AHomeIsTheDriversToMake) {
  auto& can = world_.add("maker", Isolation::container).capabilities;
  can.homes = true;
  can.host_dir_rw = true;
  start("  a: {home: /home/agent, workdir: /home/agent}\n  b: {home: /home/user}\n");

  const auto made = world_.create(with("a"));
  ASSERT_TRUE(made) << made.error().message();
  const auto& box = *world_.host().boxes.at(made->id);
  EXPECT_EQ(box.spec.home, "/home/agent");
  // Its driver says it: a value of the request's would be unknown after a restart.
  EXPECT_EQ(box.spec.env.count("HOME"), 0U);
  EXPECT_EQ(made->defaults.cwd, "/home/agent");
  const auto usual = world_.create(with("b"));
  ASSERT_TRUE(usual) << usual.error().message();
  EXPECT_EQ(world_.host().boxes.at(usual->id)->spec.home, "");
}

TEST_F(ProfileUseTest, WhoBringsADirectoryWorksInThat) {
  auto& can = world_.add("maker", Isolation::container).capabilities;
  can.homes = true;
  can.host_dir_rw = true;
  start("  a: {home: /home/agent, workdir: /home/agent}\n  b: {workdir: /workspace/src}\n");
  const auto ask = [&](std::string profile) {
    CreateRequest request = with(std::move(profile));
    request.workspace = HostDirectory{Fd(open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC)), "/tmp",
                                      "/workspace", HostAccess::rw};
    return world_.create(std::move(request)).value().defaults.cwd;
  };

  EXPECT_EQ(ask("a"), "");
  EXPECT_EQ(ask("b"), "/workspace/src");
}

TEST_F(ProfileUseTest, OnlyWhoSaysSoCanMakeAHome) {
  world_.add("bare", Isolation::container);
  world_.add("tree", Isolation::container).capabilities.own_root = true;
  start("  a: {home: /home/agent}\n");

  const auto refused = world_.create(with("a"));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("bare cannot make a home at /home/agent"));
  EXPECT_THAT(refused.error().hint(), HasSubstr("tree cannot make a home at /home/agent"));
}

TEST_F(ProfileUseTest, WhoHasTheEnginesSocketIsNotIsolated) {
  world_.add("engine", Isolation::container).capabilities.engine_socket = true;
  world_.options.members_floor = Isolation::process;
  start("  ruler: {allow_docker_socket: true, drivers: [engine]}\n");
  CreateRequest floored = with("ruler");
  floored.min_isolation = Isolation::process;

  Caller admin;
  admin.role = Role::admin;
  const auto made = world_.run(world_.engine().create(admin, with("ruler"), std::nullopt));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->isolation, Isolation::none);
  EXPECT_THAT(world_.create(std::move(floored)).error().hint(),
              HasSubstr("engine offers none, process was asked"));
  Caller member;
  member.role = Role::member;
  const auto refused = world_.run(world_.engine().create(member, with("ruler"), std::nullopt));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("only administrators may have less"));
}

TEST_F(ProfileUseTest, DirectoriesOfTheHostLieBelowItsRoots) {
  auto& can = world_.add("engine", Isolation::container).capabilities;
  can.host_dir_ro = can.host_dir_rw = can.host_dir_cow = false;
  can.host_dir_roots = true;
  start("  data: {mount_roots: [/usr/share]}\n");
  const auto ask = [&](std::string profile, const char* path) {
    CreateRequest request = with(std::move(profile));
    request.mounts.push_back({Fd(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)), path, "/data"});
    return world_.create(std::move(request));
  };

  EXPECT_TRUE(ask("data", "/usr/share/doc"));
  const auto refused = ask("data", "/usr/share/../lib");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::permission_denied);
  EXPECT_THAT(refused.error().message(), HasSubstr("none of the mount_roots of profile data@1"));
  EXPECT_FALSE(ask("", "/usr/share/doc"));
}

TEST_F(ProfileUseTest, WhatIsForSingleCommandsCannotStay) {
  world_.add("box", Isolation::container);
  start("  p: {scope: run, timeout: 3s}\n");

  const auto refused = world_.create(with("p"));
  const auto ran = world_.run(
      world_.engine().run(Caller(), with("p"), ExecRequest{.argv = {"echo", "hi"}}, "", 1'000));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("p@1 is for single commands"));
  ASSERT_TRUE(ran) << ran.error().message();
}

TEST_F(ProfileUseTest, ALifecycleSaysWhoMayHaveIt) {
  world_.add("box", Isolation::container);
  start("  once: {lifecycle: ephemeral}\n  held: {lifecycle: workspace}\n  plain: {ttl: 1m}\n");
  const auto refusal = [&](CreateRequest request) {
    const auto made = world_.create(std::move(request));
    return made ? "" : made.error().message();
  };
  const auto living = [&](Life life) {
    auto request = with("plain");
    request.lifecycle = life;
    return request;
  };
  const auto run = [&](CreateRequest request) {
    return world_.run(world_.engine().run(Caller(), std::move(request),
                                          ExecRequest{.argv = {"echo", "hi"}}, "", 1'000));
  };

  EXPECT_THAT(refusal(with("once")), HasSubstr("once@1 is for single commands"));
  EXPECT_THAT(refusal(with("held")), HasSubstr("held@1 are held by sessions"));
  EXPECT_THAT(refusal(living(Life::ephemeral)), HasSubstr("lifecycle: what is ephemeral ends"));
  EXPECT_THAT(refusal(living(Life::workspace)), HasSubstr("lifecycle: what lives as long as a"));
  EXPECT_TRUE(run(with("once")));
  EXPECT_TRUE(run(with("held")));
  EXPECT_TRUE(run(living(Life::ephemeral)));
  EXPECT_FALSE(run(living(Life::workspace)));
  const auto held = world_.run(
      world_.engine().open_session(Caller(), {.scope = std::nullopt, .key = "web"}, with("held")));
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(held->scope, SessionScope::workspace);
  EXPECT_EQ(world_.engine().get({}, held->sandbox)->lifecycle, Lifecycle::workspace);
}

TEST_F(ProfileUseTest, ANameIsTheSameSandboxWithTheSameProfileOnly) {
  world_.add("box", Isolation::container);
  start("  p: {ttl: 5m}\n");
  auto named = with("p");
  named.name = "dev";
  auto same = with("p@1");
  same.name = "dev";
  auto other = with("none");
  other.name = "dev";

  const auto first = world_.create(std::move(named));
  EXPECT_EQ(world_.create(std::move(same))->id, first->id);
  const auto differs = world_.create(std::move(other));

  ASSERT_FALSE(differs);
  EXPECT_THAT(differs.error().message(), HasSubstr("profile"));
}

TEST_F(ProfileUseTest, AnUnknownProfileMakesNothing) {
  world_.add("box", Isolation::container);
  start("  p: {ttl: 5m}\n");

  const auto refused = world_.create(with("ghost"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::not_found);
  EXPECT_THAT(refused.error().hint(), HasSubstr("python"));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

}  // namespace
}  // namespace atl
