#include "container/container_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/masked_paths.h"

namespace atl::container {
namespace {

using testing::HasSubstr;
using testing::Not;

ContainerSpec sample() {
  SandboxSpec spec;
  spec.id = "sbx00000000000000000001";
  spec.resources = {.cpu = 0.5, .memory_mb = 64, .pids = 32, .disk_mb = 16, .cpu_weight = 200};
  auto made = make_container_spec(spec);
  EXPECT_TRUE(made.has_value());
  made->instance = "/var/lib/atoll/engines/docker";
  made->image = "debian:stable-slim";
  made->agent = "/usr/libexec/atoll/atoll-agent";
  made->door = "/var/lib/atoll/engines/docker/sbx00000000000000000001";
  made->volumes = {"/data"};
  return *made;
}

std::string masked(std::string_view between, std::string_view around) {
  std::string text;
  for (const auto& path : kMaskedPaths)
    text += std::string(text.empty() ? around : between) + std::string(path);
  return text + std::string(around);
}

// Whole, so that nothing changes about it unnoticed: every line here holds a guest.
TEST(ContainerSpec, IsThisText) {
  const std::string tmpfs =
      "rw,exec,nosuid,nodev,size=16777216,nr_inodes=4096,mode=0755,uid=1000,gid=1000";
  EXPECT_EQ(
      to_json(sample(), kDocker),
      R"({"Image":"debian:stable-slim","User":"1000:1000","WorkingDir":"/",)"
      R"("Hostname":"sbx00000000000000000001","Entrypoint":["/opt/atoll/agent"],)"
      R"("Cmd":["call","/opt/atoll/door/agent.sock"],"Healthcheck":{"Test":["NONE"]},)"
      R"("NetworkDisabled":true,)"
      R"("Labels":{"atoll.instance":"/var/lib/atoll/engines/docker","atoll.driver":"docker",)"
      R"("atoll.sandbox":"sbx00000000000000000001","atoll.generation":"1"},)"
      R"("HostConfig":{"NetworkMode":"none","CapDrop":["ALL"],)"
      R"("SecurityOpt":["no-new-privileges"],"Privileged":false,"ReadonlyRootfs":true,)"
      R"("IpcMode":"private","CgroupnsMode":"private","PidsLimit":32,"Memory":67108864,)"
      R"("MemorySwap":67108864,"ShmSize":16777216,"LogConfig":{"Type":"none"},)"
      R"("AutoRemove":true,"Init":false,"Tmpfs":{"/workspace":")" +
          tmpfs + R"(","/home/user":")" + tmpfs + R"(","/tmp":")" + tmpfs + R"(","/run":")" +
          tmpfs + R"(","/var/tmp":")" + tmpfs + R"(","/data":")" + tmpfs +
          R"("},"Mounts":[{"Type":"bind","Source":"/usr/libexec/atoll/atoll-agent",)"
          R"("Target":"/opt/atoll/agent","ReadOnly":true,"BindOptions":{"Propagation":"rprivate"}},)"
          R"({"Type":"bind","Source":"/var/lib/atoll/engines/docker/sbx00000000000000000001",)"
          R"("Target":"/opt/atoll/door","ReadOnly":true,"BindOptions":{"Propagation":"rprivate"}}],)"
          R"("MaskedPaths":[)" +
          masked(R"(",")", "\"") + R"(],"NanoCpus":500000000,"CpuShares":2048}})");
}

TEST(ContainerSpec, AHomeOfAnotherNameIsLikeTheUsualOne) {
  ContainerSpec spec = sample();
  spec.home = "/home/agent";
  const std::string text = to_json(spec, kDocker);

  const std::string usual = R"("/home/user":")";
  const size_t at = text.find(usual) + usual.size();
  EXPECT_THAT(text,
              HasSubstr(R"("/home/agent":")" + text.substr(at, text.find('"', at) - at) + "\""));
  EXPECT_THAT(describe(spec), HasSubstr(" /home/agent "));
  EXPECT_THAT(root_archive(spec), HasSubstr("home/agent"));
  EXPECT_THAT(root_archive(sample()), Not(HasSubstr("home/agent")));
  // In a root that is kept it is not in memory, where it would be lost.
  spec.is_persistent = true;
  EXPECT_THAT(to_json(spec, kDocker), Not(HasSubstr("/home/agent")));
}

TEST(ContainerSpec, GivesPodmanOnlyOptionsThatItKnows) {
  const std::string text = to_json(sample(), kPodman);

  EXPECT_THAT(text, HasSubstr(R"("/tmp":"rw,exec,nosuid,nodev,size=16777216,notmpcopyup,U")"));
  EXPECT_THAT(text, Not(HasSubstr("uid=1000")));
  EXPECT_THAT(text, HasSubstr(R"("atoll.driver":"podman")"));
  EXPECT_THAT(text, HasSubstr(R"(["no-new-privileges","mask=)" + masked(":", "") + R"("])"));
  EXPECT_THAT(text, Not(HasSubstr("MaskedPaths")));
}

// An own list takes the place of the engines', so what they hide must be in it.
TEST(ContainerSpec, HidesWhatEnginesHideByThemselves) {
  for (const std::string_view path :
       {"/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
        "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
        "/sys/firmware"}) {
    EXPECT_THAT(kMaskedPaths, testing::Contains(path));
  }
}

TEST(ContainerSpec, HasAPartOfAProcessorThatTheKernelCanCount) {
  SandboxSpec spec;
  spec.resources.cpu = 0.001;
  const auto refused = make_container_spec(spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_THAT(refused.error().message(), HasSubstr("at least 0.01"));
  spec.resources.cpu = 0.01;
  EXPECT_TRUE(make_container_spec(spec));
}

TEST(ContainerSpec, LimitsWhatNobodyHasLimited) {
  const auto made = make_container_spec(SandboxSpec());

  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->pids, 100U);
  EXPECT_EQ(made->memory_bytes, 2ULL << 30);
  EXPECT_EQ(made->disk_bytes, 1ULL << 30);
}

TEST(ContainerSpec, IsOpenedOnlyAsAsked) {
  auto spec = sample();
  EXPECT_THAT(describe(spec), HasSubstr("network       none"));
  spec.network = Network::bridge;
  spec.engine_socket = "/run/docker.sock";
  spec.socket_group = 107;

  const std::string text = to_json(spec, kDocker);

  EXPECT_THAT(text, HasSubstr(R"("NetworkMode":"bridge")"));
  EXPECT_THAT(text, HasSubstr(R"("NetworkDisabled":false)"));
  EXPECT_THAT(text, HasSubstr(R"("Source":"/run/docker.sock","Target":"/var/run/docker.sock")"));
  EXPECT_THAT(text, HasSubstr(R"("GroupAdd":["107"])"));
  EXPECT_THAT(text, HasSubstr(R"("CapDrop":["ALL"])"));
  EXPECT_THAT(describe(spec), HasSubstr("it rules the engine's host"));
}

TEST(ContainerSpec, CarriesNoEnvironment) {
  SandboxSpec spec;
  spec.env = {{"TOKEN", "of-the-sandbox"}};
  const auto made = make_container_spec(spec);

  // The engine writes what it is told to its disk.
  ASSERT_TRUE(made.has_value());
  EXPECT_THAT(to_json(*made, kDocker), Not(HasSubstr("of-the-sandbox")));
}

TEST(ContainerSpec, RefusesWhatAnEngineCannotDo) {
  SandboxSpec with_directory;
  with_directory.root.emplace();
  SandboxSpec dedicated;
  dedicated.resources.sharing = Sharing::dedicated;
  SandboxSpec tiny;
  tiny.resources.memory_mb = 4;

  EXPECT_EQ(make_container_spec(with_directory).error().code(), Code::unsupported);
  EXPECT_EQ(make_container_spec(dedicated).error().code(), Code::unsupported);
  EXPECT_EQ(make_container_spec(tiny).error().code(), Code::invalid_argument);
}

TEST(ContainerSpec, SaysWhatIsTheLeastAndWhatHelps) {
  const auto refused = [](Resources asked) {
    SandboxSpec spec;
    spec.resources = asked;
    const auto made = make_container_spec(spec);
    return made ? std::string() : made.error().message() + "; " + made.error().hint();
  };

  EXPECT_THAT(refused({.pids = 2}), HasSubstr("at least 3 processes; its agent is one of them"));
  EXPECT_THAT(refused({.memory_mb = 7}), HasSubstr("at least 8 MiB of memory; a shell runs"));
  EXPECT_EQ(refused({.cpu = 0.01, .memory_mb = 8, .pids = 3}), "");
}

TEST(ContainerSpec, KeepsInItsRootWhatIsPersistent) {
  SandboxSpec spec;
  spec.persistence = Persistence::persistent;
  const auto made = make_container_spec(spec);
  ASSERT_TRUE(made.has_value());

  const std::string text = to_json(*made, kDocker);

  EXPECT_THAT(text, HasSubstr(R"("ReadonlyRootfs":false)"));
  EXPECT_THAT(text, HasSubstr(R"("StorageOpt":{"size":"1073741824"})"));
  EXPECT_THAT(text, HasSubstr(R"("Tmpfs":{"/tmp":)"));
  EXPECT_THAT(text, Not(HasSubstr("/workspace")));
  EXPECT_FALSE(made->must_limit_root);
  spec.resources.disk_mb = 5;
  EXPECT_TRUE(make_container_spec(spec)->must_limit_root);
}

TEST(ContainerSpec, GivesAnEngineElsewhereNoPathOfThisHost) {
  auto spec = sample();
  spec.agent.clear();
  spec.door.clear();
  spec.instance = "a-name";

  const std::string text = to_json(spec, kDocker);

  EXPECT_THAT(text, HasSubstr(R"("Mounts":[{"Type":"volume","Target":"/opt/atoll",)"
                              R"("ReadOnly":false,"VolumeOptions":{"NoCopy":true,"Labels":{)"
                              R"("atoll.instance":"a-name","atoll.driver":"docker",)"
                              R"("atoll.sandbox":"sbx00000000000000000001",)"
                              R"("atoll.generation":"1","atoll.transport":"relay"}}}])"));
  EXPECT_THAT(text, HasSubstr(R"("Cmd":["answer"])"));
  EXPECT_THAT(text, HasSubstr(R"("atoll.transport":"relay")"));
  EXPECT_THAT(text, Not(HasSubstr("/var/lib")));
  EXPECT_THAT(text, Not(HasSubstr("libexec")));
  EXPECT_THAT(to_trial_json(spec, kDocker), HasSubstr(R"("Cmd":["kernel"])"));
}

TEST(ContainerSpec, LeavesRoomForASecondKernel) {
  auto spec = sample();
  const auto asked = spec.memory_bytes;

  make_room_for_sentry(spec);

  EXPECT_EQ(spec.memory_bytes, asked + (256ULL << 20));
  EXPECT_EQ(spec.pids, 8192U);
  EXPECT_THAT(to_json(spec, kDocker), HasSubstr(R"("atoll.kernel":"sentry")"));
}

TEST(ContainerSpec, UpdatesOnlyWhatIsGiven) {
  EXPECT_EQ(to_update_json({.memory_mb = 128}, 0),
            R"({"Memory":134217728,"MemorySwap":134217728})");
  EXPECT_EQ(to_update_json({.pids = 5}, 0), R"({"PidsLimit":5})");
}

// More than there are an engine refuses to be told of.
TEST(ContainerSpec, UpdatesToNoMoreProcessorsThanThereAre) {
  EXPECT_EQ(to_update_json({.cpu = 64}, 2), R"({"NanoCpus":2000000000})");
  EXPECT_EQ(to_update_json({.cpu = 0.5}, 2), R"({"NanoCpus":500000000})");
  EXPECT_EQ(to_update_json({.cpu = 64}, 0), R"({"NanoCpus":64000000000})");
}

TEST(ContainerSpec, LeavesRoomForASecondKernelWhenItIsResized) {
  EXPECT_EQ(to_sentry_update_json({.memory_mb = 64}, 2),
            R"({"Memory":335544320,"MemorySwap":335544320})");
  EXPECT_EQ(check_sentry({.memory_mb = 64, .pids = 10}).error().code(), Code::unsupported);
  EXPECT_TRUE(check_sentry({.memory_mb = 64}).has_value());
}

}  // namespace
}  // namespace atl::container
