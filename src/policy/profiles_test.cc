#include "policy/profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/ids.h"
#include "policy/profile_files.h"

namespace atl::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ProfileText many(std::string profiles, Origin origin = Origin::operators) {
  return {origin == Origin::project ? "project.yaml" : "own.yaml", "profiles:\n" + profiles, origin,
          Form::profile_file};
}

Result<std::shared_ptr<const Profiles>> load(std::string profiles,
                                             Origin origin = Origin::operators) {
  const std::vector<ProfileText> texts{many(std::move(profiles), origin)};
  return Profiles::load(texts);
}

std::string problem(std::string profiles, Origin origin = Origin::operators) {
  const auto loaded = load(std::move(profiles), origin);
  return loaded ? "fine" : loaded.error().message();
}

TEST(Profiles, WhatIsBuiltInIsAsTheTiersSay) {
  const auto profiles = Profiles::built_in();
  const auto floor = [&](const char* name) {
    return profiles->get(name).value()->profile.min_isolation;
  };

  EXPECT_EQ(floor("trusted"), Isolation::none);
  EXPECT_EQ(floor("team"), Isolation::container);
  EXPECT_EQ(floor("untrusted"), Isolation::vm);
  EXPECT_EQ(floor("max"), Isolation::vm);
  EXPECT_EQ(profiles->get("max").value()->profile.scope, Scope::run);
  const Profile& usual = profiles->get("default").value()->profile;
  EXPECT_EQ(usual.timeout_ms, 30'000);
  EXPECT_EQ(usual.resources.memory_mb, 256);
  EXPECT_EQ(usual.resources.cpu, 0.5);
  EXPECT_EQ(usual.resources.pids, 100);
  const Profile& agent = profiles->get("agent").value()->profile;
  EXPECT_EQ(agent.resources.cpu, 2);
  EXPECT_EQ(agent.resources.memory_mb, 4096);
  EXPECT_EQ(agent.resources.disk_mb, 20480);
  // Every driver can, which is not so of pausing.
  EXPECT_EQ(agent.on_idle, OnEnd::stop);
  for (const char* name : {"python", "node", "ci"}) EXPECT_TRUE(profiles->get(name)) << name;
}

TEST(Profiles, TheHighestVersionHoldsWithoutOne) {
  const auto profiles = load("  a@2: {ttl: 2m}\n  a@10: {ttl: 10m}\n").value();

  EXPECT_EQ(profiles->get("a").value()->profile.reference(), "a@10");
  EXPECT_EQ(profiles->get("a@2").value()->profile.ttl_s, 120);
  EXPECT_EQ(profiles->get("a@3").error().hint(), "its versions: 2, 10");
}

TEST(Profiles, AnUnknownNameIsToldWithOneThatIsNear) {
  const auto missing = Profiles::built_in()->get("pyhton");

  EXPECT_EQ(missing.error().code(), Code::not_found);
  EXPECT_THAT(missing.error().hint(), HasSubstr("did you mean python?"));
}

TEST(Profiles, InheritsWhatItDoesNotSay) {
  const auto profiles = load(
      "  base: {min_isolation: container, ttl: 1h, env: {A: a, B: b}, resources: {pids: 9}}\n"
      "  mid: {inherits: base, ttl: 2h, env: {B: c}}\n"
      "  leaf: {inherits: mid@1, min_isolation: vm}\n");
  ASSERT_TRUE(profiles) << profiles.error().message();
  const KnownProfile* leaf = (*profiles)->get("leaf").value();

  EXPECT_EQ(leaf->profile.min_isolation, Isolation::vm);
  EXPECT_EQ(leaf->profile.ttl_s, 7200);
  EXPECT_EQ(leaf->profile.resources.pids, 9);
  EXPECT_EQ(leaf->profile.env.at("A"), "a");
  EXPECT_EQ(leaf->profile.env.at("B"), "c");
  EXPECT_THAT(leaf->chain, ElementsAre("leaf@1", "mid@1", "base@1"));
  EXPECT_EQ(leaf->from.at("ttl"), "mid@1");
  EXPECT_EQ(leaf->from.at("env.A"), "base@1");
  EXPECT_EQ(leaf->from.at("min_isolation"), "leaf@1");
}

TEST(Profiles, ABoundIsNeverLoosenedByInheritance) {
  EXPECT_THAT(problem("  a: {inherits: team, min_isolation: process}\n"),
              HasSubstr("min_isolation: process is weaker than container, which it inherits from "
                        "team@1"));
  EXPECT_THAT(problem("  a: {inherits: team, placement: third_party}\n"),
              HasSubstr("placement: third_party is weaker than own"));
  EXPECT_THAT(problem("  a: {inherits: max, workspace: ro}\n"),
              HasSubstr("workspace: ro is weaker than isolated"));
  EXPECT_THAT(problem("  a: {inherits: team, network: bridge}\n"),
              HasSubstr("network: bridge is weaker than none, which it inherits from team@1"));
  EXPECT_EQ(problem("  a: {network: bridge}\n  b: {inherits: a, network: none}\n"), "fine");
}

TEST(Profiles, RootsLieBelowThoseThatAreInherited) {
  const std::string parent = "  a: {mount_roots: [/srv/data, /opt]}\n";
  EXPECT_EQ(problem(parent + "  b: {inherits: a, mount_roots: [/srv/data/x, /opt]}\n"), "fine");
  EXPECT_EQ(problem(parent + "  b: {inherits: a, mount_roots: []}\n"), "fine");
  for (const char* root : {"/srv", "/srv/database", "/opt/../etc", "/"}) {
    EXPECT_THAT(problem(parent + "  b: {inherits: a, mount_roots: [" + root + "]}\n"),
                HasSubstr("lies outside of what it inherits from a@1"))
        << root;
  }
}

TEST(Profiles, TheEnginesSocketAndAFloorAreNotToBeHadTogether) {
  EXPECT_EQ(problem("  a: {allow_docker_socket: true, drivers: [docker]}\n"), "fine");
  EXPECT_THAT(problem("  a: {allow_docker_socket: true, min_isolation: process}\n"),
              HasSubstr("isolation none, and min_isolation demands process"));
  EXPECT_THAT(problem("  a: {inherits: team, allow_docker_socket: true}\n"),
              HasSubstr("min_isolation demands container"));
}

TEST(Profiles, CirclesAndDepthsAreRefused) {
  EXPECT_THAT(problem("  a: {inherits: b}\n  b: {inherits: a}\n"),
              HasSubstr("it goes in a circle: a@1 → b@1 → a@1"));
  EXPECT_THAT(problem("  a: {inherits: a}\n"), HasSubstr("circle"));
  // Whichever end is looked at first.
  for (const bool up : {true, false}) {
    std::string chain;
    for (int i = 0; i < 8; ++i) {
      chain += "  a" + std::to_string(up ? i : 8 - i) + ": {inherits: a" +
               std::to_string(up ? i + 1 : 7 - i) + "}\n";
    }
    chain += std::string("  a") + (up ? "8" : "0") + ": {ttl: 1m}\n";
    EXPECT_THAT(problem(chain), HasSubstr("more than 8 in a row"));
  }
  EXPECT_THAT(problem("  a: {inherits: ghost}\n"), HasSubstr("no profile is called ghost"));
}

TEST(Profiles, EachThatInheritsTooFarIsTold) {
  std::string chain = "  c0: {ttl: 1m}\n";
  for (int i = 1; i < 12; ++i)
    chain += "  c" + std::to_string(i) + ": {inherits: c" + std::to_string(i - 1) + "}\n";
  const std::vector<ProfileText> texts{many(chain)};

  const auto problems = Profiles::check(texts);

  std::vector<std::string> told;
  for (const Error& one : problems) told.push_back(one.message());
  EXPECT_THAT(told, SizeIs(4));
  for (const char* name : {"c8@1", "c9@1", "c10@1", "c11@1"}) {
    EXPECT_THAT(told,
                testing::Contains(HasSubstr(std::string("profile ") + name +
                                            ": inherits: more than 8 in a row: " + name + " → c")));
  }
}

TEST(Profiles, WhatLivesAsLongAsTheServerHasNoTimeThatCouldBeUp) {
  EXPECT_THAT(problem("  a: {lifecycle: persistent, ttl: 1m}\n"),
              HasSubstr("ttl: with lifecycle: persistent no time could be up"));
  EXPECT_THAT(problem("  a: {lifecycle: persistent, on_expire: stop}\n"),
              HasSubstr("on_expire: with lifecycle: persistent"));
  EXPECT_THAT(problem("  a: {lifecycle: persistent}\n  b: {inherits: a, ttl: 1m}\n"),
              HasSubstr("profile b@1: ttl: with lifecycle: persistent"));
  // A later word takes the place of an earlier one.
  EXPECT_EQ(problem("  a: {ttl: 1m}\n  b: {inherits: a, lifecycle: persistent}\n"), "fine");
  EXPECT_EQ(problem("  a: {lifecycle: persistent}\n"
                    "  b: {inherits: a, lifecycle: session, ttl: 1m}\n"),
            "fine");
  EXPECT_EQ(problem("  a: {lifecycle: persistent, idle: 1m, on_idle: stop}\n"), "fine");
}

TEST(Profiles, WhatIsBuiltInIsNotReplaced) {
  EXPECT_THAT(problem("  default: {ttl: 1m}\n"), HasSubstr("profile default@1 is built in"));
  const auto mine = load("  default@2: {inherits: default@1, ttl: 1m}\n");
  ASSERT_TRUE(mine) << mine.error().message();
  EXPECT_EQ((*mine)->get("default").value()->profile.reference(), "default@2");
  EXPECT_EQ((*mine)->get("python").value()->profile.ttl_s, 60);
}

TEST(Profiles, AFoundProjectFileAddsAndTakesNothingOver) {
  const auto refused = [](const char* text, const char* words) {
    EXPECT_THAT(problem(text, Origin::project), HasSubstr(words)) << text;
  };
  refused("  untrusted@9: {min_isolation: container}\n", "may not take over the name");
  refused("  mine: {min_isolation: process}\n", "less isolation than container");
  refused("  mine: {drivers: [local]}\n", "choose drivers");
  refused("  mine: {inherits: trusted}\n", "less isolation than container");
  refused("  mine: {placement: third_party}\n", "third parties");
  refused("  mine: {workspace: rw}\n", "write to the host's files");
  refused("  mine: {network: bridge}\n", "open the network");
  refused("  mine: {mount_roots: [/]}\n", "directories of the host");
  refused("  mine: {allow_docker_socket: true}\n", "the engine's socket");
  EXPECT_EQ(problem("  mine: {inherits: python, ttl: 5m}\n", Origin::project), "fine");
  const std::vector<ProfileText> both{many("  a: {min_isolation: container}\n", Origin::project),
                                      many("  a: {min_isolation: vm}\n")};
  EXPECT_THAT(Profiles::load(both).error().message(), HasSubstr("project.yaml"));
}

TEST(Profiles, AHomeIsOneBelowHomeOrTakesARootThatHasIt) {
  EXPECT_EQ(problem("  a: {home: /home/agent}\n"), "fine");
  for (const std::string home : {"/srv/agent", "/home/agent/deep", "/home/..", "/home"}) {
    EXPECT_THAT(problem("  a: {home: " + home + "}\n"), HasSubstr("takes an image or a template"));
    EXPECT_EQ(problem("  a: {home: " + home + ", image: agents:1}\n"), "fine");
  }
}

TEST(Profiles, CheckFindsEverything) {
  const std::vector<ProfileText> texts{
      many("  a: {hooks: 1}\n  b: {inherits: ghost}\n  c: {ttl: x}\n")};

  EXPECT_THAT(Profiles::check(texts), SizeIs(3));
  EXPECT_THAT(Profiles::load(texts).error().message(), HasSubstr("own.yaml:2"));
  EXPECT_THAT(Profiles::check({}), IsEmpty());
}

TEST(Profiles, ThereAreNotTooMany) {
  std::string text;
  for (int i = 0; i < 501; ++i) text += "  p" + std::to_string(i) + ": {ttl: 1m}\n";

  EXPECT_THAT(problem(text), HasSubstr("more than 500"));
}

TEST(ProfileFiles, ADirectoryIsItsYamlFiles) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("atoll-policy-" + random_name(8));
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "b.yaml") << "name: b\n";
  std::ofstream(directory / "a.yml") << "name: a\n";
  std::ofstream(directory / "notes.txt") << "no profile";
  std::ofstream(directory / ".hidden.yaml") << "no: profile";

  const auto texts = read_profile_files(directory.string(), Origin::operators);
  const auto none = read_profile_files((directory / "ghost").string(), Origin::operators);
  const auto special = read_profile_files("/dev/null", Origin::operators);

  std::filesystem::remove_all(directory);
  ASSERT_TRUE(texts) << texts.error().message();
  ASSERT_THAT(*texts, SizeIs(2));
  EXPECT_THAT((*texts)[0].file, HasSubstr("a.yml"));
  EXPECT_FALSE(none);
  EXPECT_THAT(special.error().message(), HasSubstr("no plain file"));
}

}  // namespace
}  // namespace atl::policy
