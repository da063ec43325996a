#include "core/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/run_task.h"
#include "driver/fake_driver.h"

namespace atl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct RouterWorld {
  FakeHost& add(std::string name, Isolation isolation) {
    hosts.push_back(FakeHost::make(std::move(name), isolation));
    return *hosts.back();
  }
  Result<std::vector<std::string>> route(const RouteWish& wish) {
    std::vector<EngineDriver> drivers;
    for (const auto& host : hosts) drivers.push_back({make_fake_driver(host), ""});
    DriverTable table(std::move(drivers));
    TRY_OK(run_task(loop, table.probe_all()));
    TRY(const auto found, find_route(table, wish));
    std::vector<std::string> names;
    for (const DriverSlot* slot : found) names.push_back(slot->name());
    return names;
  }

  asio::io_context loop;
  std::vector<std::shared_ptr<FakeHost>> hosts;
};

TEST(Router, TakesEveryDriverThatWillDoInTheOrderOfPreference) {
  RouterWorld world;
  world.add("native", Isolation::container);
  world.add("docker", Isolation::container);
  world.add("microvm", Isolation::vm);

  EXPECT_THAT(world.route({}).value(), ElementsAre("native", "docker", "microvm"));
  EXPECT_THAT(world.route({.min_isolation = Isolation::sentry}).value(), ElementsAre("microvm"));
}

TEST(Router, NeverFallsBelowTheFloor) {
  RouterWorld world;
  world.add("microvm", Isolation::vm).down();
  world.add("docker", Isolation::container);

  const auto route = world.route({.min_isolation = Isolation::vm});

  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().code(), Code::unavailable);
  EXPECT_THAT(route.error().hint(), HasSubstr("docker offers container, vm was asked"));
  EXPECT_THAT(route.error().hint(), HasSubstr("microvm does not answer"));
}

TEST(Router, WaitingForADriverThatIsTooWeakAnywayIsOfNoUse) {
  RouterWorld world;
  world.add("native", Isolation::container);
  world.add("docker", Isolation::container).down();

  const auto route = world.route({.min_isolation = Isolation::vm});

  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().code(), Code::unsupported);
  EXPECT_THAT(route.error().hint(), HasSubstr("docker does not answer"));
}

TEST(Router, WaitingForAnEngineHelpsWithARuntimeThatIsStrongEnoughAndNotWithoutOne) {
  RouterWorld world;
  world.add("native", Isolation::container);
  auto& docker = world.add("docker", Isolation::container);
  docker.capabilities.runtimes = {{"kata", Isolation::vm}};
  docker.down();

  EXPECT_EQ(world.route({.min_isolation = Isolation::vm}).error().code(), Code::unsupported);
  EXPECT_EQ(world.route({.min_isolation = Isolation::vm, .runtime = "kata"}).error().code(),
            Code::unavailable);
}

TEST(Router, TakesADriverWithoutIsolationOnlyByName) {
  RouterWorld world;
  world.add("local", Isolation::none);

  const auto unnamed = world.route({});
  const auto named = world.route({.driver = "local"});

  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().code(), Code::unsupported);
  EXPECT_THAT(unnamed.error().hint(),
              HasSubstr("local offers none and is used only when it is named"));
  EXPECT_THAT(named.value(), ElementsAre("local"));
}

TEST(Router, ANamedDriverMustMeetTheFloorToo) {
  RouterWorld world;
  world.add("local", Isolation::none);
  world.add("subprocess", Isolation::process);

  const auto route = world.route({.driver = "local", .min_isolation = Isolation::process});

  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().code(), Code::unsupported);
  EXPECT_THAT(route.error().message(), HasSubstr("local offers none, process was asked"));
  EXPECT_EQ(route.error().hint(), "subprocess can");
}

TEST(Router, AnUnknownNameGetsTheKnownOnes) {
  RouterWorld world;
  world.add("docker", Isolation::container);

  const auto route = world.route({.driver = "dokcer"});

  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().code(), Code::not_found);
  EXPECT_THAT(route.error().hint(), HasSubstr("did you mean docker?"));
}

TEST(Router, ANamedDriverThatDoesNotAnswerIsUnavailable) {
  RouterWorld world;
  world.add("docker", Isolation::container).down();

  const auto route = world.route({.driver = "docker"});

  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().code(), Code::unavailable);
  EXPECT_EQ(route.error().hint(), "start docker");
}

TEST(Router, CodeNeverGoesFartherThanAllowed) {
  RouterWorld world;
  world.add("e2b", Isolation::vm).capabilities.placement = Placement::third_party;
  world.add("k8s", Isolation::container).capabilities.placement = Placement::own;
  world.add("native", Isolation::container);

  EXPECT_THAT(world.route({}).value(), ElementsAre("k8s", "native"));
  EXPECT_THAT(world.route({.placement = Placement::host}).value(), ElementsAre("native"));
  EXPECT_THAT(world.route({.placement = Placement::third_party}).value(),
              ElementsAre("e2b", "k8s", "native"));
  EXPECT_FALSE(world.route({.driver = "e2b"}));
}

TEST(Router, ALimitThatCannotBeHeldIsRefused) {
  RouterWorld world;
  world.add("local", Isolation::process).capabilities.limits = {.memory = Limit::per_process};
  world.add("native", Isolation::container);

  const auto refused = world.route({.driver = "local", .resources = {.cpu = 1}});
  const auto accepted = world.route({.driver = "local", .resources = {.memory_mb = 64}});
  const auto routed = world.route({.resources = {.cpu = 1}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_EQ(refused.error().message(), "local cannot limit cpu");
  EXPECT_EQ(refused.error().hint(), "native can");
  EXPECT_TRUE(accepted) << "a limit per process is a limit";
  EXPECT_THAT(routed.value(), ElementsAre("native"));
}

TEST(Router, AHostDirectoryNeedsADriverThatCanShowItThatWay) {
  RouterWorld world;
  world.add("docker", Isolation::container);
  world.add("native", Isolation::container).capabilities.host_dir_cow = true;

  const auto refused = world.route({.driver = "docker", .host_directories = {HostAccess::cow}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "docker cannot show a directory of the host copy-on-write");
  EXPECT_EQ(refused.error().hint(), "native can");
  EXPECT_THAT(world.route({.host_directories = {HostAccess::cow}}).value(), ElementsAre("native"));
}

TEST(Router, ADirectoryThatOnlyLacksARootIsRefusedWithTheWayToNameOne) {
  RouterWorld world;
  auto& can = world.add("docker", Isolation::container).capabilities;
  can.host_dir_ro = false;
  can.host_dir_roots = true;

  const auto refused = world.route({.driver = "docker", .host_directories = {HostAccess::ro}});

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("docker cannot show a directory of the host read-only"),
                    HasSubstr("ATOLL_ENGINE_MOUNT_ROOTS"), HasSubstr("mount_roots")));
}

TEST(Router, WhoHasNoEngineIsNotSaidToOfferLess) {
  RouterWorld world;
  world.add("native", Isolation::container);

  const auto refused = world.route({.min_isolation = Isolation::container, .engine_socket = true});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint(), "native has no engine whose socket it could show");
}

TEST(Router, ALifetimeBeyondTheDriversIsRefused) {
  RouterWorld world;
  world.add("lambda", Isolation::vm).capabilities.max_lifetime_s = 900;

  const auto refused = world.route({.ttl = std::chrono::seconds(901)});

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint(), HasSubstr("at most 900 s, 901 s was asked"));
  EXPECT_TRUE(world.route({.ttl = std::chrono::seconds(900)}));
}

TEST(Router, WithoutDriversItSaysSo) {
  RouterWorld world;

  const auto route = world.route({});

  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().hint(), "no driver is configured");
}

TEST(Router, WhatOnlyAdministratorsMayHaveIsDeniedToOthersByName) {
  RouterWorld world;
  world.add("boxes", Isolation::container);
  world.add("plain", Isolation::process);
  world.add("local", Isolation::none);

  EXPECT_THAT(world.route({.floor = Isolation::container}).value(), ElementsAre("boxes"));
  for (const char* name : {"plain", "local"}) {
    const auto refused = world.route({.driver = name, .floor = Isolation::container});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code(), Code::permission_denied);
    EXPECT_THAT(refused.error().message(), HasSubstr("only administrators"));
    EXPECT_EQ(refused.error().hint(), "boxes can");
    EXPECT_THAT(world.route({.driver = name}).value(), ElementsAre(name)) << "an administrator's";
  }
}

TEST(Router, ARootDirectoryNeedsADriverThatTakesOne) {
  RouterWorld world;
  world.add("plain", Isolation::container);
  world.add("boxes", Isolation::container).capabilities.root_dir = true;

  EXPECT_THAT(world.route({.root = true}).value(), ElementsAre("boxes"));
  const auto refused = world.route({.driver = "plain", .root = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("root file system"));
  EXPECT_EQ(refused.error().hint(), "boxes can");
}

TEST(Router, TemplatesImagesAndKeptRootsNeedDriversThatTakeThem) {
  RouterWorld world;
  world.add("plain", Isolation::container).capabilities.root_dir = true;
  auto& engine = world.add("engine", Isolation::container).capabilities;
  engine.templates = engine.images = engine.writable_root = true;

  EXPECT_THAT(world.route({.root = true}).value(), ElementsAre("plain"));
  EXPECT_THAT(world.route({.root = true, .is_template = true}).value(), ElementsAre("engine"));
  EXPECT_THAT(world.route({.image = true}).value(), ElementsAre("engine"));
  EXPECT_THAT(world.route({.persistence = Persistence::persistent}).value(), ElementsAre("engine"));
  EXPECT_EQ(world.route({.driver = "plain", .image = true}).error().hint(), "engine can");
}

TEST(Router, ARuntimeDecidesTheIsolation) {
  RouterWorld world;
  world.add("plain", Isolation::container);
  world.add("engine", Isolation::container).capabilities.runtimes = {{"runsc", Isolation::sentry},
                                                                     {"weak", Isolation::process}};

  EXPECT_THAT(world.route({.runtime = "runsc"}).value(), ElementsAre("engine"));
  EXPECT_THAT(world.route({.min_isolation = Isolation::sentry, .runtime = "runsc"}).value(),
              ElementsAre("engine"));
  EXPECT_FALSE(world.route({.min_isolation = Isolation::sentry}));
  EXPECT_FALSE(world.route({.min_isolation = Isolation::container, .runtime = "weak"}));
  EXPECT_EQ(world.route({.driver = "engine", .runtime = "kata"}).error().message(),
            "engine has no runtime kata, but runsc and weak");
}

TEST(Router, AnotherUserNeedsADriverThatHasThem) {
  RouterWorld world;
  world.add("plain", Isolation::container);
  world.add("boxes", Isolation::container).capabilities.users = true;

  EXPECT_THAT(world.route({.user = "root"}).value(), ElementsAre("boxes"));
  EXPECT_THAT(world.route({.user = "0"}).value(), ElementsAre("boxes"));
  EXPECT_THAT(world.route({.user = "user"}).value(), ElementsAre("plain", "boxes"));
  EXPECT_THAT(world.route({.user = "1000"}).value(), ElementsAre("plain", "boxes"));
  EXPECT_EQ(world.route({.driver = "plain", .user = "root"}).error().hint(), "boxes can");
  EXPECT_EQ(world.route({.driver = "plain", .user = "0"}).error().message(),
            "plain cannot run as user 0");
}

TEST(Router, WhomATemplateGivesTheNumberOfTheOnlyUserIsNoOther) {
  RouterWorld world;
  world.add("plain", Isolation::container).user = 1000;
  world.add("boxes", Isolation::container).capabilities.users = true;

  EXPECT_THAT(world.route({.user = "agent", .user_number = 1000}).value(),
              ElementsAre("plain", "boxes"));
  EXPECT_THAT(world.route({.user = "worker", .user_number = 1234}).value(), ElementsAre("boxes"));
  EXPECT_THAT(world.route({.user = "1234", .user_number = 1234}).value(), ElementsAre("boxes"));
  EXPECT_THAT(world.route({.user = "nobody-knows"}).value(), ElementsAre("boxes"));
  const auto refused = world.route({.driver = "plain", .user = "worker", .user_number = 1234});
  EXPECT_EQ(refused.error().message(),
            "plain cannot run as user worker, who is 1234 in the template: every command is user "
            "1000 there");
  EXPECT_EQ(refused.error().hint(), "boxes can");
}

TEST(Router, WeightsAndDedicationNeedDriversThatHoldThem) {
  RouterWorld world;
  world.add("plain", Isolation::container).capabilities.limits.cpu = Limit::none;
  world.add("boxes", Isolation::container).capabilities.dedicated = true;

  EXPECT_THAT(world.route({.resources = {.cpu_weight = 200}}).value(), ElementsAre("boxes"));
  const Resources dedicated{.cpu = 1, .sharing = Sharing::dedicated};
  EXPECT_THAT(world.route({.resources = dedicated}).value(), ElementsAre("boxes"));
}

}  // namespace
}  // namespace atl
