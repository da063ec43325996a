#include "native/host_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace atl::native {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A host on which everything is as it should be.
HostFacts good_host() {
  HostFacts facts;
  facts.user = 1'000;
  facts.kernel = "6.12.3";
  facts.machine = "x86_64";
  facts.own_version = "1.2.3";
  facts.cgroups = CgroupVersion::v2;
  facts.cgroup_roles = kRoleMemory | kRolePids | kRoleCpu | kRoleUsage | kRoleFreezer;
  facts.cgroup_place = "/sys/fs/cgroup/atoll";
  facts.max_user_namespaces = 65'536;
  facts.landlock_abi = 6;
  facts.has_seccomp = true;
  facts.has_overlay = true;
  facts.places = {{"/", "ext4", OwnerMapping::works}};
  facts.memory_bytes = uint64_t{8} << 30;
  facts.available_memory_bytes = uint64_t{4} << 30;
  facts.pid_max = 4'194'304;
  facts.inotify_instances = 8'192;
  facts.inotify_watches = 1'048'576;
  facts.has_kvm = facts.may_use_kvm = true;
  facts.engines = {{"docker", "/usr/bin/docker", "/run/docker.sock", true},
                   {"runsc", "/usr/bin/runsc", "", false}};
  facts.clock_is_synchronised = facts.has_entropy = true;
  facts.state_directory = "/var/lib/atoll";
  facts.state_free_bytes = uint64_t{50} << 30;
  facts.state_free_inodes = 1'000'000;
  facts.may_write_state = true;
  facts.libexec = "/usr/libexec/atoll";
  facts.companions = {{"atoll-launcher", "/usr/libexec/atoll/atoll-launcher", true, "1.2.3"},
                      {"atoll-agent", "/usr/libexec/atoll/atoll-agent", true, "1.2.3"}};
  return facts;
}

// Refused at `step`, with everything after it untried.
void refuse(HostFacts& facts, TrialStep step, int failure) {
  for (int i = static_cast<int>(step); i < kTrialSteps; ++i) {
    facts.namespaces.failure[i] = ECANCELED;
  }
  facts.namespaces.failure[static_cast<int>(step)] = failure;
}

HostCheck check_of(const HostFacts& facts, std::string_view name) {
  for (auto& check : judge_host(facts)) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check is called " << name;
  return {};
}

TEST(HostVerdicts, AGoodHostHasNothingToRepair) {
  for (const auto& check : judge_host(good_host())) {
    EXPECT_EQ(check.verdict, Verdict::ok) << check.name << ": " << check.found;
    EXPECT_EQ(check.repair, "") << check.name;
    EXPECT_NE(check.found, "") << check.name;
    EXPECT_NE(check.needed_for, "") << check.name;
  }
}

TEST(HostVerdicts, NamesAreUnique) {
  std::set<std::string> names;
  for (const auto& check : judge_host(good_host())) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
  }
}

TEST(HostVerdicts, WithoutUserNamespacesTheSettingThatForbidsThemIsNamed) {
  auto facts = good_host();
  refuse(facts, TrialStep::user_namespace, ENOSPC);
  facts.max_user_namespaces = 0;

  const auto check = check_of(facts, "user_namespaces");

  EXPECT_EQ(check.verdict, Verdict::missing);
  EXPECT_THAT(check.found, HasSubstr("making a user namespace"));
  EXPECT_THAT(check.repair, HasSubstr("sysctl -w user.max_user_namespaces=65536"));
  EXPECT_THAT(check.repair, Not(HasSubstr("apparmor")));
}

TEST(HostVerdicts, DebiansSwitchIsNamedToUsersAndNotToRoot) {
  auto facts = good_host();
  refuse(facts, TrialStep::user_namespace, EPERM);
  facts.unprivileged_userns_clone = 0;
  EXPECT_THAT(check_of(facts, "user_namespaces").repair,
              HasSubstr("kernel.unprivileged_userns_clone=1"));

  facts.user = 0;
  EXPECT_THAT(check_of(facts, "user_namespaces").repair,
              Not(HasSubstr("kernel.unprivileged_userns_clone")));
}

TEST(HostVerdicts, ANamespaceWithoutPowersIsNoNamespace) {
  // What AppArmor does on Ubuntu 24.04: unshare works, mount does not.
  auto facts = good_host();
  refuse(facts, TrialStep::mounts, EACCES);
  facts.apparmor_restricts_userns = 1;

  const auto check = check_of(facts, "user_namespaces");

  EXPECT_EQ(check.verdict, Verdict::missing);
  EXPECT_THAT(check.found, HasSubstr("AppArmor"));
  EXPECT_THAT(
      check.repair,
      HasSubstr("profile atoll-launcher /usr/libexec/atoll/atoll-launcher flags=(unconfined)"));
  EXPECT_THAT(check.repair, HasSubstr("  userns,\n"));
  EXPECT_THAT(check.repair, HasSubstr("apparmor_parser -r"));
}

TEST(HostVerdicts, AProfileForTheLauncherLeavesTheAnswerToTheDriver) {
  auto facts = good_host();
  refuse(facts, TrialStep::mounts, EACCES);
  facts.apparmor_restricts_userns = 1;
  facts.has_launcher_profile = true;
  EXPECT_EQ(check_of(facts, "user_namespaces").verdict, Verdict::weak);
}

TEST(HostVerdicts, AContainerIsToBlameOnlyIfNoSettingIs) {
  auto facts = good_host();
  facts.container = "docker";
  EXPECT_EQ(check_of(facts, "surroundings").verdict, Verdict::ok);
  refuse(facts, TrialStep::user_namespace, EPERM);
  EXPECT_EQ(check_of(facts, "surroundings").verdict, Verdict::weak);
  facts.max_user_namespaces = 0;
  EXPECT_EQ(check_of(facts, "surroundings").verdict, Verdict::ok);
}

TEST(HostVerdicts, ALoopbackThatStaysDownIsWeak) {
  auto facts = good_host();
  facts.namespaces.failure[static_cast<int>(TrialStep::loopback)] = EPERM;
  EXPECT_TRUE(facts.namespaces.works());
  const auto check = check_of(facts, "user_namespaces");
  EXPECT_EQ(check.verdict, Verdict::weak);
  EXPECT_THAT(check.found, HasSubstr("loopback"));
}

TEST(HostVerdicts, WithoutCgroupsRootHasNoSandboxesAndAUserHasFewerLimits) {
  auto facts = good_host();
  facts.cgroups = CgroupVersion::none;
  facts.cgroup_reason = "the cgroup /sys/fs/cgroup is not delegated to this user";
  EXPECT_EQ(check_of(facts, "cgroups").verdict, Verdict::weak);
  EXPECT_THAT(check_of(facts, "cgroups").repair, HasSubstr("Delegate="));

  facts.user = 0;
  EXPECT_EQ(check_of(facts, "cgroups").verdict, Verdict::missing);
  EXPECT_THAT(check_of(facts, "cgroups").repair, HasSubstr("mount -t cgroup2"));
}

TEST(HostVerdicts, AControllerThatIsNotThereIsWeak) {
  auto facts = good_host();
  facts.cgroup_roles &= static_cast<uint8_t>(~kRoleCpu);
  EXPECT_EQ(check_of(facts, "cgroups").verdict, Verdict::weak);
  EXPECT_THAT(check_of(facts, "cgroups").found, Not(HasSubstr("cpu")));
}

TEST(HostVerdicts, OldKernelsAreWeakAndThoseWithoutLandlockMissing) {
  auto facts = good_host();
  facts.kernel = "5.15.0-91-generic";
  EXPECT_EQ(check_of(facts, "kernel").verdict, Verdict::weak);
  facts.kernel = "4.19.0";
  EXPECT_EQ(check_of(facts, "kernel").verdict, Verdict::missing);
  facts.kernel = "nonsense";
  EXPECT_EQ(check_of(facts, "kernel").verdict, Verdict::missing);
}

TEST(HostVerdicts, LandlockIsAddedToTheModulesThatAreActive) {
  auto facts = good_host();
  facts.landlock_abi = 0;
  facts.security_modules = "capability,yama,apparmor";
  const auto check = check_of(facts, "landlock");
  EXPECT_EQ(check.verdict, Verdict::missing);
  EXPECT_THAT(check.repair, HasSubstr("lsm=landlock,capability,yama,apparmor"));
}

TEST(HostVerdicts, AnOverlayThatWasNotTriedIsNotCalledFine) {
  auto facts = good_host();
  refuse(facts, TrialStep::user_namespace, EPERM);
  EXPECT_EQ(check_of(facts, "overlay").verdict, Verdict::weak);
  facts.has_overlay = false;
  EXPECT_EQ(check_of(facts, "overlay").verdict, Verdict::missing);
}

TEST(HostVerdicts, ACompanionOfAnotherVersionWillNotDo) {
  auto facts = good_host();
  facts.companions[1].version = "1.2.2";
  EXPECT_EQ(check_of(facts, "atoll-agent").verdict, Verdict::missing);
  EXPECT_THAT(check_of(facts, "atoll-agent").found, HasSubstr("1.2.2"));
  facts.companions[1].is_there = false;
  EXPECT_EQ(check_of(facts, "atoll-agent").verdict, Verdict::missing);
}

TEST(HostVerdicts, SomebodyElsesSocketIsNeverOfferedAsARepair) {
  auto facts = good_host();
  facts.engines[0].may_use_socket = false;
  const auto check = check_of(facts, "docker");
  EXPECT_EQ(check.verdict, Verdict::weak);
  EXPECT_THAT(check.repair, Not(HasSubstr("usermod")));
}

TEST(HostVerdicts, PodmansServiceIsOfWhoeverRunsAtoll) {
  auto facts = good_host();
  facts.engines = {{"podman", "/usr/bin/podman", "", false}};
  facts.user = 0;
  EXPECT_EQ(check_of(facts, "podman").repair, "systemctl enable --now podman.socket");
  facts.user = 1000;
  EXPECT_EQ(check_of(facts, "podman").repair, "systemctl --user enable --now podman.socket");
}

TEST(HostVerdicts, WhatIsOptionalSaysSo) {
  auto facts = good_host();
  facts.has_kvm = facts.may_use_kvm = false;
  facts.engines[1].program = "";
  for (const char* name : {"kvm", "runsc"}) {
    EXPECT_EQ(check_of(facts, name).verdict, Verdict::missing);
    EXPECT_EQ(check_of(facts, name).need, Need::optional);
  }
}

TEST(HostVerdicts, ALittleDiskIsToldBeforeItIsFull) {
  auto facts = good_host();
  facts.state_free_bytes = uint64_t{100} << 20;
  EXPECT_EQ(check_of(facts, "state_directory").verdict, Verdict::weak);
  facts.may_write_state = false;
  EXPECT_EQ(check_of(facts, "state_directory").verdict, Verdict::missing);
}

TEST(HostFactsOfThisHost, AreFoundWithoutAnythingLeftBehind) {
  const auto facts = look_at_host(
      {.state_directory = "/nonexistent/deep/below", .libexec = "", .own_version = "1"});
  EXPECT_NE(facts.kernel, "");
  EXPECT_GT(facts.memory_bytes, 0U);
  EXPECT_GT(facts.state_free_bytes, 0U);
  ASSERT_GE(facts.places.size(), 2U);
  EXPECT_NE(facts.places[0].file_system, "unknown");
  EXPECT_EQ(facts.companions.size(), 4U);
  EXPECT_FALSE(facts.companions[0].is_there);
  for (const auto& check : judge_host(facts)) EXPECT_NE(check.found, "") << check.name;
}

TEST(HostVerdicts, WhatKeepsTheStoragePoolAwayIsNamedWithTheCommandThatRepairsIt) {
  HostFacts facts = good_host();
  facts.pool = {"mkfs.btrfs is not installed", "apt install btrfs-progs"};

  const auto check = check_of(facts, "storage_pool");

  EXPECT_EQ(check.verdict, Verdict::missing);
  EXPECT_EQ(check.need, Need::useful);
  EXPECT_EQ(check.found, "mkfs.btrfs is not installed");
  EXPECT_EQ(check.repair, "sudo apt install btrfs-progs");
}

}  // namespace
}  // namespace atl::native
