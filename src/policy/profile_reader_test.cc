#include "policy/profile_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ReadProfiles read(std::string text, Form form = Form::profile_file) {
  return read_profiles({"p.yaml", std::move(text), Origin::operators, form});
}

TEST(ProfileReader, ReadsEveryField) {
  const auto found = read(R"(
name: python@2
inherits: default
description: Python programs
isolation_level: sentry
placement: host
persistence: persistent
scope: session
workspace: cow
network: none
mount_roots: [/srv/data]
allow_docker_socket: false
ttl: 30m
on_expire: pause
idle: 90
on_idle: stop
keep: 2h
on_failure: recreate
resources: {cpus: 0.5, memory: 256m, pids: 100, disk: 2g, sharing: limited}
image: python:3.12
user: agent
home: /home/agent
workdir: /work
env: {A: "1"}
labels: {team: search}
drivers: [docker, native]
fallback: [gvisor]
timeout: 1500ms
)");

  ASSERT_THAT(found.problems, IsEmpty()) << found.problems[0].message();
  ASSERT_THAT(found.profiles, SizeIs(1));
  const Profile& profile = found.profiles[0].profile;
  EXPECT_EQ(profile.reference(), "python@2");
  EXPECT_EQ(profile.min_isolation, Isolation::sentry);
  EXPECT_EQ(profile.placement, Placement::host);
  EXPECT_EQ(profile.persistence, Persistence::persistent);
  EXPECT_EQ(profile.workspace, Workspace::cow);
  EXPECT_EQ(profile.network, Network::none);
  EXPECT_THAT(*profile.mount_roots, ElementsAre("/srv/data"));
  EXPECT_EQ(profile.allow_docker_socket, false);
  EXPECT_EQ(profile.ttl_s, 1800);
  EXPECT_EQ(profile.idle_s, 90);
  EXPECT_EQ(profile.on_expire, OnEnd::pause);
  EXPECT_EQ(profile.on_idle, OnEnd::stop);
  EXPECT_EQ(profile.keep_s, 7200);
  EXPECT_EQ(profile.on_failure, OnFailure::recreate);
  EXPECT_EQ(profile.timeout_ms, 1500);
  EXPECT_EQ(profile.resources.cpu, 0.5);
  EXPECT_EQ(profile.resources.memory_mb, 256);
  EXPECT_EQ(profile.resources.disk_mb, 2048);
  EXPECT_EQ(profile.resources.sharing, Sharing::limited);
  EXPECT_EQ(profile.image, "python:3.12");
  EXPECT_EQ(profile.env.at("A"), "1");
  EXPECT_THAT(*profile.drivers, ElementsAre("docker", "native"));
  EXPECT_THAT(*profile.fallback, ElementsAre("gvisor"));
  EXPECT_EQ(profile.home, "/home/agent");
}

TEST(ProfileReader, ReadsManyFromOneFile) {
  const auto found = read("profiles:\n  a: {ttl: 1m}\n  b@3: {ttl: 2m}\n  c:\n    version: 2\n");

  ASSERT_THAT(found.problems, IsEmpty());
  ASSERT_THAT(found.profiles, SizeIs(3));
  EXPECT_EQ(found.profiles[1].profile.reference(), "b@3");
  EXPECT_EQ(found.profiles[2].profile.reference(), "c@2");
  EXPECT_EQ(found.profiles[1].line, 3);
}

TEST(ProfileReader, LooksAtNothingElseInAConfiguration) {
  const auto found =
      read("sandbox: {memory: 1g}\nprofiles:\n  a: {ttl: 1m}\n", Form::configuration);

  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_THAT(found.profiles, SizeIs(1));
  EXPECT_THAT(read("sandbox: {memory: 1g}\n", Form::configuration).profiles, IsEmpty());
}

TEST(ProfileReader, OneBadProfileDoesNotHideAnother) {
  const auto found = read("profiles:\n  a: {tll: 1m}\n  b: {ttl: 1m}\n  c: {ttl: never}\n");

  EXPECT_THAT(found.profiles, SizeIs(1));
  EXPECT_THAT(found.problems, SizeIs(2));
}

struct Bad {
  const char* text;
  const char* message;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }
class BadProfile : public ::testing::TestWithParam<Bad> {};

TEST_P(BadProfile, IsRefusedInWordsWithItsLine) {
  const auto found = read(std::string("name: x\n") + GetParam().text);

  EXPECT_THAT(found.profiles, IsEmpty());
  ASSERT_THAT(found.problems, SizeIs(1));
  EXPECT_THAT(found.problems[0].message(), HasSubstr(GetParam().message));
  EXPECT_THAT(found.problems[0].message(), HasSubstr("p.yaml:2"));
}

INSTANTIATE_TEST_SUITE_P(
    Words, BadProfile,
    ::testing::Values(
        Bad{"tll: 1m", "tll: unknown field (did you mean ttl?)"},
        Bad{"resources: {memroy: 1g}", "resources.memroy: unknown field"},
        Bad{"hooks: {start: x}", "profile x: hooks: expected after_start or before_stop"},
        Bad{"dependencies: [x]", "dependencies: expected lists of packages"},
        Bad{"network: {allow: [a.example]}", "`network` is not available in this version"},
        Bad{"network: open", "`network` is not available in this version"},
        Bad{"on_expire: snapshot", "`on_expire: snapshot` is not available in this version"},
        Bad{"on_expire: explode", "on_expire: expected kill, stop or pause"},
        Bad{"on_idle: sleep", "on_idle: expected kill, stop or pause"},
        Bad{"on_failure: weep", "on_failure: expected fail or recreate"}, Bad{"keep: soon", "keep"},
        Bad{"mount_roots: [srv]", "mount_roots: they are absolute paths of the host"},
        Bad{"allow_docker_socket: perhaps", "allow_docker_socket: "},
        Bad{"scope: tenant", "`scope: tenant` is not available in this version"},
        Bad{"scope: moon", "scope: expected run, session, agent, workspace or shared"},
        Bad{"lifecycle: eternal", "expected session, persistent, workspace or ephemeral"},
        Bad{"lifecycle: workspace\nscope: run", "lifecycle: workspace is for sandboxes that"},
        Bad{"lifecycle: ephemeral\nscope: workspace", "lifecycle: ephemeral is for single"},
        Bad{"lifecycle: session\nscope: agent", "lifecycle: session is for sandboxes that nobody"},
        Bad{"lifecycle: persistent\nscope: shared", "lifecycle: persistent is for sandboxes"},
        Bad{"persistence: snapshot", "expected ephemeral, persistent or checkpoint"},
        Bad{"checkpoint: all\npersistence: checkpoint", "expected disk or memory"},
        Bad{"min_isolation: strong", "min_isolation: expected one of none, process"},
        Bad{"isolation_level: vm\nmin_isolation: container", "the two differ"},
        Bad{"ttl: soon", "ttl: "}, Bad{"ttl: 0", "ttl: it must be more than zero"},
        Bad{"ttl: 1e300", "ttl: it is too long a time"},
        Bad{"resources: {sharing: limited}", "limited needs a limit"},
        Bad{"resources: {sharing: mine}", "expected one of shared, limited, burstable, dedicated"},
        Bad{"template: b\nimage: a", "a sandbox has one root"},
        Bad{"workdir: here", "workdir: it is an absolute path"},
        Bad{"drivers: [Local]", "no driver can be called"},
        Bad{"drivers: [a, a]", "a is there twice"},
        Bad{"fallback: [a]", "it says what comes after `drivers`"},
        Bad{"inherits: No", "inherits: a profile is called NAME[@VERSION]"},
        Bad{"version: 0", "version: it is a number from 1 to 9999"},
        Bad{"workspace: public", "workspace: expected one of isolated, ro, cow, rw"}));

TEST(ProfileReader, ALifecycleSettlesTheScopeThatIsNotSaid) {
  const auto scope_of = [](const std::string& text) {
    const auto found = read("name: x\n" + text + "\n");
    EXPECT_THAT(found.problems, IsEmpty()) << text;
    return found.profiles.at(0).profile.used_for();
  };

  EXPECT_EQ(scope_of("lifecycle: ephemeral"), Scope::run);
  EXPECT_EQ(scope_of("lifecycle: workspace"), Scope::workspace);
  EXPECT_EQ(scope_of("lifecycle: session"), Scope::session);
  EXPECT_EQ(scope_of("lifecycle: persistent"), Scope::session);
  EXPECT_EQ(scope_of("lifecycle: workspace\nscope: agent"), Scope::agent);
  EXPECT_EQ(scope_of("ttl: 1m"), Scope::session);
}

TEST(ProfileReader, NeedsAName) {
  EXPECT_THAT(read("ttl: 1m\n").problems[0].message(), HasSubstr("name: missing"));
  EXPECT_THAT(read("name: none\n").problems[0].message(), HasSubstr("there is no profile"));
  EXPECT_THAT(read("name: A b\n").problems[0].message(), HasSubstr("NAME[@VERSION]"));
  EXPECT_THAT(read("name: a@2\nversion: 3\n").problems[0].message(), HasSubstr("version"));
}

TEST(ProfileReader, ReferencesAreNamesWithVersions) {
  EXPECT_EQ(parse_profile_reference("python@12")->version, 12);
  EXPECT_EQ(parse_profile_reference("a")->version, std::nullopt);
  for (const char* bad : {"", "@1", "a@", "a@0", "a@01", "a@-1", "a@1x", "A", "a b", "a@99999"}) {
    EXPECT_FALSE(parse_profile_reference(bad)) << bad;
  }
}

}  // namespace
}  // namespace atl::policy
