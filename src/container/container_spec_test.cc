#include "container/container_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// Whole, so that nothing changes about it unnoticed: every line here holds a guest.
TEST(ContainerSpec, IsThisText) {
  const std::string tmpfs =
      "rw,exec,nosuid,nodev,size=16777216,nr_inodes=4096,mode=0755,uid=1000,gid=1000";
  EXPECT_EQ(
      to_json(sample(), kDocker),
      R"({"Image":"debian:stable-slim","User":"1000:1000","WorkingDir":"/",)"
      R"("Hostname":"sbx00000000000000000001","Entrypoint":["/opt/atoll/agent"],)"
      R"("Cmd":["call","/opt/atoll/door/agent.sock"],"Healthcheck":{"Test":["NONE"]},)"
      R"("Labels":{"atoll.instance":"/var/lib/atoll/engines/docker","atoll.driver":"docker",)"
      R"("atoll.sandbox":"sbx00000000000000000001","atoll.generation":"1"},)"
      R"("HostConfig":{"NetworkMode":"none","CapDrop":["ALL"],)"
      R"("SecurityOpt":["no-new-privileges"],"Privileged":false,"ReadonlyRootfs":true,)"
      R"("IpcMode":"private","CgroupnsMode":"private","PidsLimit":32,"Memory":67108864,)"
      R"("MemorySwap":67108864,"ShmSize":16777216,"LogConfig":{"Type":"none"},)"
      R"("AutoRemove":true,"Init":false,"Tmpfs":{"/workspace":")" +
          tmpfs + R"(","/tmp":")" + tmpfs + R"(","/home/user":")" + tmpfs + R"(","/run":")" +
          tmpfs + R"(","/var/tmp":")" + tmpfs + R"(","/data":")" + tmpfs +
          R"("},"Mounts":[{"Type":"bind","Source":"/usr/libexec/atoll/atoll-agent",)"
          R"("Target":"/opt/atoll/agent","ReadOnly":true,"BindOptions":{"Propagation":"rprivate"}},)"
          R"({"Type":"bind","Source":"/var/lib/atoll/engines/docker/sbx00000000000000000001",)"
          R"("Target":"/opt/atoll/door","ReadOnly":true,"BindOptions":{"Propagation":"rprivate"}}],)"
          R"("NanoCpus":500000000,"CpuShares":2048}})");
}

TEST(ContainerSpec, GivesPodmanOnlyOptionsThatItKnows) {
  const std::string text = to_json(sample(), kPodman);

  EXPECT_THAT(text, HasSubstr(R"("/tmp":"rw,exec,nosuid,nodev,size=16777216,U")"));
  EXPECT_THAT(text, Not(HasSubstr("uid=1000")));
  EXPECT_THAT(text, HasSubstr(R"("atoll.driver":"podman")"));
}

TEST(ContainerSpec, LimitsWhatNobodyHasLimited) {
  const auto made = make_container_spec(SandboxSpec());

  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->pids, 100U);
  EXPECT_EQ(made->memory_bytes, 2ULL << 30);
  EXPECT_EQ(made->disk_bytes, 1ULL << 30);
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
  with_directory.mounts.emplace_back();
  SandboxSpec dedicated;
  dedicated.resources.sharing = Sharing::dedicated;
  SandboxSpec tiny;
  tiny.resources.memory_mb = 4;

  EXPECT_EQ(make_container_spec(with_directory).error().code(), Code::unsupported);
  EXPECT_EQ(make_container_spec(dedicated).error().code(), Code::unsupported);
  EXPECT_EQ(make_container_spec(tiny).error().code(), Code::invalid_argument);
}

TEST(ContainerSpec, UpdatesOnlyWhatIsGiven) {
  EXPECT_EQ(to_update_json({.memory_mb = 128}), R"({"Memory":134217728,"MemorySwap":134217728})");
  EXPECT_EQ(to_update_json({.pids = 5}), R"({"PidsLimit":5})");
}

}  // namespace
}  // namespace atl::container
