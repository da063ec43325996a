#include "core/run_mode.h"

#include <gmock/gmock.h>

#include <sstream>

#include "core/engine_world_internal.h"
#include "core/route_plan.h"
#include "policy/profiles.h"

namespace atl {
namespace {

using ::testing::HasSubstr;

// The chains of others, on hosts that have what they have.
struct Case {
  std::string hosts;  // "native docker": what is configured, in this order; "-x" = it is down
  std::string mode;
  std::optional<Isolation> floor;
  std::string leads_to;  // drivers in order, or what the refusal has in it
};

std::string decide(const Case& one) {
  EngineWorld world;
  std::istringstream in(one.hosts);
  for (std::string name; in >> name;) {
    const bool is_down = name.starts_with('-');
    if (is_down) name.erase(0, 1);
    const Isolation level = name == "local"        ? Isolation::none
                            : name == "subprocess" ? Isolation::process
                            : name == "wasm"       ? Isolation::sentry
                                                   : Isolation::container;
    FakeHost& host = world.add(name, level);
    if (is_down) host.down();
  }
  world.start();
  CreateRequest request;
  request.run_mode = one.mode;
  request.min_isolation = one.floor;
  const auto told = world.run(world.engine().plan({}, std::move(request), ""));
  if (!told) return told.error().message() + "; " + told.error().hint();
  std::string text;
  for (const auto& driver : told->drivers) {
    if (told->served && driver.verdict == Verdict::refused) continue;
    text += (text.empty() ? "" : " ") + (told->served ? driver.driver : driver.reason + ";");
  }
  return text;
}

TEST(RunMode, IsARouteWithAndWithoutAFloor) {
  using enum Isolation;
  const std::string here = "native docker subprocess local";
  const Case table[] = {
      {here, "docker", {}, "docker native"},
      {"native -docker subprocess local", "docker", {}, "native"},
      {"-native -docker subprocess local", "docker", {}, "docker does not answer"},
      {"native subprocess local", "docker", {}, "native"},
      {"subprocess local", "docker", {}, "docker is not configured here"},
      {"subprocess local",
       "docker",
       {},
       "subprocess is not among the drivers of the run mode docker"},
      {"subprocess local", "docker", process, "native is not configured here"},
      {here, "docker", container, "docker native"},
      {here, "docker", sentry, "docker offers container, sentry was asked"},
      {here, "docker", vm, "native offers container, vm was asked"},
      {here, "wasm", {}, "docker native"},
      {"wasm " + here, "wasm", {}, "wasm docker native"},
      {"wasm " + here, "wasm", sentry, "wasm"},
      {here, "wasm", sentry, "wasm is not configured here"},
      {here, "wasm", sentry, "docker offers container, sentry was asked"},
      {"-wasm " + here, "wasm", {}, "docker native"},
      {"-wasm " + here, "wasm", sentry, "wasm does not answer"},
      {"-wasm -docker native local", "wasm", {}, "native"},
      {"-wasm -docker -native local", "wasm", {}, "local is not among the drivers"},
      {here, "native", {}, "native"},
      {"-native docker", "native", {}, "native does not answer"},
      {here, "local", {}, "local"},
      {here, "local", container, "local offers none, container was asked"},
      {here, "subprocess", {}, "subprocess"},
      {here, "firecracker", {}, "firecracker is not configured here"},
      {here, "microvm", {}, "firecracker is not configured here"},
      {here, "auto", {}, "native docker subprocess"},
      {here, "auto", container, "native docker"},
      {here, "dokcer", {}, "did you mean docker?"},
      {here, "hybrid_aws", {}, "work is not divided"},
      {here, std::string(65, 'x'), {}, "at most 64 bytes"},
  };
  for (const Case& one : table) {
    const std::string decision = decide(one);
    const bool is_route = one.leads_to.find_first_of(",?") == std::string::npos &&
                          one.leads_to.find(" is ") == std::string::npos &&
                          one.leads_to.find(" does ") == std::string::npos &&
                          one.leads_to.find("at most") == std::string::npos;
    SCOPED_TRACE(one.hosts + " / " + one.mode);
    if (is_route) {
      EXPECT_EQ(decision, one.leads_to);
    } else {
      EXPECT_THAT(decision, HasSubstr(one.leads_to));
    }
  }
}

TEST(RunMode, ASandboxIsMadeThereAndShowsIt) {
  EngineWorld world;
  world.add("native");
  world.add("docker").fail("create", Error(Code::unavailable, "no answer"));
  world.start();

  const auto made = world.create({.run_mode = "docker"});

  EXPECT_EQ(made->driver, "native");
  EXPECT_EQ(made->run_mode, "docker");
}

TEST(RunMode, TakesThePlaceOfAProfilesDriversAndNotOfItsFloor) {
  EngineWorld world;
  world.add("native");
  world.add("subprocess", Isolation::process);
  const std::vector<policy::ProfileText> texts{
      {"t.yaml", "profiles:\n  p: {drivers: [subprocess], min_isolation: container}\n"}};
  world.options.profiles = policy::Profiles::load(texts).value();
  world.start();

  EXPECT_EQ(world.create({.run_mode = "native", .profile = "p"})->driver, "native");
  EXPECT_EQ(world.create({.run_mode = "subprocess", .profile = "p"}).error().code(),
            Code::unsupported);
}

TEST(RunMode, ADriverAndAModeAreOneTooMany) {
  EngineWorld world;
  world.add("native");
  world.start();

  const auto made = world.create({.driver = "native", .run_mode = "auto"});

  EXPECT_EQ(made.error().code(), Code::invalid_argument);
  EXPECT_THAT(made.error().message(), HasSubstr("run_mode"));
}

TEST(RunMode, AnotherModeUnderTheSameNameIsAnotherSandbox) {
  EngineWorld world;
  world.add("native");
  world.start();
  ASSERT_TRUE(world.create({.run_mode = "native", .name = "box"}));

  EXPECT_TRUE(world.create({.run_mode = "native", .name = "box"})->was_there);
  EXPECT_THAT(world.create({.run_mode = "auto", .name = "box"}).error().message(),
              HasSubstr("differs in: run_mode"));
}

}  // namespace
}  // namespace atl
