#include "native/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>

namespace atl::native {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kId = "sbx00000000000000000001";

HostView some_host() {
  HostView host;
  host.system = {{"usr", HostEntryKind::directory, ""},
                 {"bin", HostEntryKind::link, "usr/bin"},
                 {"lib64", HostEntryKind::directory, ""}};
  host.etc = {{"alternatives", HostEntryKind::directory, ""},
              {"ld.so.cache", HostEntryKind::file, ""},
              {"localtime", HostEntryKind::link, "/usr/share/zoneinfo/UTC"}};
  host.proc = {{"kcore", HostEntryKind::file, ""},   {"sys", HostEntryKind::directory, ""},
               {"fs", HostEntryKind::directory, ""}, {"self", HostEntryKind::link, "1"},
               {"version", HostEntryKind::file, ""}, {"meminfo", HostEntryKind::file, ""}};
  host.has_usr_local_etc = true;
  host.processors = 8;
  host.memory_bytes = 64ULL << 30;
  return host;
}

Result<Plan> plan_for(const BoxRequest& request, Authority authority = Authority::root,
                      LayerSet without = {}) {
  return make_plan(kId, request, some_host(), authority, CgroupSlice(), without);
}

Plan must_plan(const BoxRequest& request, Authority authority = Authority::root,
               LayerSet without = {}) {
  auto plan = plan_for(request, authority, without);
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? *plan : Plan();
}

const Step* find(const Plan& plan, StepKind kind, std::string_view target) {
  const auto found = std::ranges::find_if(
      plan.steps, [&](const Step& step) { return step.kind == kind && step.target == target; });
  return found == plan.steps.end() ? nullptr : &*found;
}

TEST(Plan, HasEveryNamespace) {
  const Plan plan = must_plan({});

  EXPECT_EQ(plan.namespaces, uint64_t{CLONE_NEWUSER} | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                 CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET);
}

TEST(Plan, ShowsTheHostsSystemReadOnly) {
  const Plan plan = must_plan({});

  for (const char* target : {"root/usr", "root/lib64", "etc"}) {
    const Step* step = find(plan, StepKind::bind, target);
    ASSERT_NE(step, nullptr) << target;
    EXPECT_EQ(step->attributes, uint64_t{MOUNT_ATTR_RDONLY} | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
        << target;
  }
  // From there, and so with what that is mounted with.
  const Step* part = find(plan, StepKind::bind, "root/etc/alternatives");
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->source, "etc/alternatives");
  EXPECT_LT(find(plan, StepKind::bind, "etc"), part);
  ASSERT_NE(find(plan, StepKind::link, "root/bin"), nullptr);
  EXPECT_EQ(find(plan, StepKind::link, "root/bin")->text, "usr/bin");
}

TEST(Plan, EveryMountIsNosuid) {
  for (const auto authority : {Authority::root, Authority::rootless}) {
    BoxRequest request;
    request.directories = {{"/data", ShownAs::rw}, {"/copy", ShownAs::cow}, {"/look", ShownAs::ro}};
    for (const auto& step : must_plan(request, authority).steps) {
      const bool mounts = step.kind == StepKind::tmpfs || step.kind == StepKind::tree ||
                          step.kind == StepKind::overlay || step.kind == StepKind::proc ||
                          step.kind == StepKind::pts || step.kind == StepKind::mqueue;
      if (mounts) EXPECT_NE(step.attributes & MOUNT_ATTR_NOSUID, 0u) << step.target;
    }
  }
}

TEST(Plan, CoversWhatTheKernelTellsInProc) {
  const Plan plan = must_plan({});

  const auto masked = [&](const char* source, const std::string& name) {
    return std::ranges::any_of(plan.steps, [&](const Step& step) {
      return step.kind == StepKind::mask && step.target == "root/proc" && step.source == source &&
             (" " + step.text + " ").find(" " + name + " ") != std::string::npos;
    });
  };
  EXPECT_TRUE(masked("mask/file", "kcore"));
  EXPECT_TRUE(masked("mask/directory", "fs"));
  for (const char* open : {"version", "self", "sys", "meminfo"}) {
    EXPECT_FALSE(masked("mask/file", open)) << open;
    EXPECT_FALSE(masked("mask/directory", open)) << open;
  }
  EXPECT_EQ(find(plan, StepKind::bind, "root/proc/sys")->source, "settings");
  EXPECT_EQ(find(plan, StepKind::bind, "root/proc/meminfo")->source, "store/told/meminfo");
  EXPECT_EQ(find(plan, StepKind::bind, "root/proc/version"), nullptr);
  EXPECT_EQ(find(plan, StepKind::bind, "root/proc/self"), nullptr);
}

TEST(Plan, HidesWhatAnAdministratorConfigured) {
  EXPECT_EQ(find(must_plan({}), StepKind::bind, "root/usr/local/etc")->source, "mask/directory");
}

TEST(Plan, SharesWhatIsNobodysOwn) {
  const Plan plan = must_plan({});
  ASSERT_GT(plan.shared_steps, 0u);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const bool is_shared = i < plan.shared_steps;
    const bool writes_files = step.kind == StepKind::file || step.kind == StepKind::directory ||
                              step.kind == StepKind::link || step.kind == StepKind::device;
    if (is_shared) {
      EXPECT_NE(step.target.substr(0, 6), "store/") << "everybody's files in one place";
      EXPECT_NE(step.kind, StepKind::proc);
    } else if (writes_files) {
      EXPECT_TRUE(step.target.starts_with("store/"))
          << step.target << " is written to where others see it";
    }
  }
  const Step& last = plan.steps[plan.shared_steps - 1];
  EXPECT_EQ(last.kind, StepKind::seal) << "what is shared cannot be written to";
  EXPECT_EQ(last.target, "root");
}

TEST(Plan, SharesNothingThatDependsOnTheRequestOrWithoutRoot) {
  EXPECT_EQ(must_plan({}, Authority::rootless).shared_steps, 0u);
  BoxRequest with_directory;
  with_directory.directories = {{"/data", ShownAs::ro}};
  EXPECT_EQ(must_plan(with_directory).shared_steps, 0u);
  BoxRequest with_root;
  with_root.has_root = true;
  EXPECT_EQ(must_plan(with_root).shared_steps, 0u);
}

TEST(Plan, EntersTheRootLast) {
  const Plan plan = must_plan({});

  EXPECT_EQ(plan.steps.back().kind, StepKind::move_into_root);
  EXPECT_EQ(std::ranges::count(plan.steps, StepKind::move_into_root, &Step::kind), 1);
}

TEST(Plan, GivesCommandsNoCapabilityOnTheHostsSystem) {
  EXPECT_EQ(must_plan({}).root_capabilities, 0u);

  BoxRequest request;
  request.has_root = true;
  EXPECT_NE(must_plan(request).root_capabilities, 0u);
  EXPECT_EQ(must_plan(request, Authority::rootless).root_capabilities, 0u);
}

TEST(Plan, BoundsDiskByBytesAndFiles) {
  BoxRequest request;
  request.disk_bytes = 64 << 20;
  const Plan plan = must_plan(request);

  EXPECT_THAT(find(plan, StepKind::tmpfs, "store")->text,
              HasSubstr("size=67108864,nr_inodes=16384"));
}

TEST(Plan, AHomeOfAnotherNameIsTheOnlyOneAndTheUsualNameLeadsThere) {
  BoxRequest request;
  request.home = "/home/agent";
  const Plan plan = must_plan(request);

  ASSERT_NE(find(plan, StepKind::bind, "root/home/agent"), nullptr);
  EXPECT_EQ(find(plan, StepKind::bind, "root/home/agent")->source, "store/home");
  EXPECT_EQ(find(plan, StepKind::bind, "root/home/user"), nullptr);
  ASSERT_NE(find(plan, StepKind::link, "root/home/user"), nullptr);
  EXPECT_EQ(find(plan, StepKind::link, "root/home/user")->text, "agent");
  EXPECT_THAT(find(plan, StepKind::file, "root/etc/passwd")->text,
              HasSubstr("user:x:1000:1000:user:/home/agent:/bin/bash"));
  const auto allowed = std::ranges::find(plan.landlock, "/home/agent", &LandlockRule::path);
  ASSERT_NE(allowed, plan.landlock.end());
  EXPECT_EQ(allowed->access, FileAccess::read_write);
  EXPECT_EQ(std::ranges::count(plan.landlock, "/home/user", &LandlockRule::path), 0);
  // Those without have another root, which they cannot share.
  EXPECT_GT(plan.shared_steps, 0u);
  EXPECT_NE(find(must_plan({}), StepKind::bind, "root/home/user"), nullptr);
  EXPECT_EQ(find(must_plan({}), StepKind::link, "root/home/user"), nullptr);
}

TEST(Plan, AHomeIsMadeInARootThatHasNone) {
  BoxRequest request;
  request.has_root = true;
  request.home = "/home/agent";
  const Plan plan = must_plan(request);

  const Step* home = find(plan, StepKind::directory, "root/home/agent");
  ASSERT_NE(home, nullptr);
  EXPECT_EQ(home->owner, kUserId);
  EXPECT_TRUE(home->optional);
}

// The launcher does not take the daemon's word for it.
TEST(Plan, AHomeIsOnePlainNameBelowHome) {
  for (const char* home : {"/home", "/home/", "/home/a/b", "/home/..", "/home/.ssh", "/home/a:0:0",
                           "/home/a\nroot::0:0:::", "/root", "home/a", "/homes/a", "/home/-x",
                           "/home/abcdefghijklmnopqrstuvwxyz0123456"}) {
    BoxRequest request;
    request.home = home;
    const auto refused = plan_for(request);
    ASSERT_FALSE(refused) << home;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument) << home;
  }
  for (const char* home : {"/home/agent", "/home/user", "/home/A_b-c.9", "/home/_x"}) {
    BoxRequest request;
    request.home = home;
    EXPECT_TRUE(plan_for(request)) << home;
  }
}

TEST(Plan, CopiesOnWriteThroughAnOverlay) {
  BoxRequest request;
  request.has_workspace = true;
  request.directories = {{"/workspace", ShownAs::cow}};
  const Plan plan = must_plan(request);

  ASSERT_EQ(plan.copy_on_write.size(), 1u);
  EXPECT_EQ(plan.copy_on_write[0].guest_path, "/workspace");
  EXPECT_THAT(find(plan, StepKind::overlay, "root/workspace")->text,
              HasSubstr("lowerdir=lower0,upperdir=store/cow0/upper"));
  EXPECT_EQ(find(plan, StepKind::bind, "root/workspace"), nullptr);
}

TEST(Plan, MountsWhatLiesAboveFirst) {
  BoxRequest request;
  request.directories = {{"/data/inner", ShownAs::ro}, {"/data", ShownAs::ro}};
  const Plan plan = must_plan(request);

  EXPECT_LT(find(plan, StepKind::tree, "root/data"), find(plan, StepKind::tree, "root/data/inner"));
  EXPECT_EQ(find(plan, StepKind::tree, "root/data")->slot, 1);
}

TEST(Plan, RefusesPlacesThatAreTheSandboxsOwn) {
  for (const char* path : {"/proc", "/proc/1", "/dev/null", "/etc", "/etc/passwd", "/sys", "/run/x",
                           "relative", "", "/", "/a/../b", "/a//b", "/a/."}) {
    BoxRequest request;
    request.directories = {{path, ShownAs::ro}};
    EXPECT_FALSE(plan_for(request)) << path;
  }
}

TEST(Plan, RefusesLimitsThatNothingFitsInto) {
  BoxRequest memory;
  memory.memory_bytes = 1 << 20;
  EXPECT_FALSE(plan_for(memory));
  BoxRequest disk;
  disk.disk_bytes = 4096;
  EXPECT_FALSE(plan_for(disk));
}

TEST(Plan, WithoutCgroupsMemoryBoundsFilesToo) {
  BoxRequest request;
  request.memory_bytes = 64 << 20;

  EXPECT_EQ(must_plan(request, Authority::rootless).disk_bytes, uint64_t{64} << 20);
}

TEST(Plan, IsReadable) {
  BoxRequest request;
  request.directories = {{"/data", ShownAs::ro}};
  const std::string text = describe(must_plan(request));

  EXPECT_THAT(text, HasSubstr("namespaces"));
  EXPECT_THAT(text, HasSubstr("/data"));
  EXPECT_THAT(text, HasSubstr("no_new_privs"));
  EXPECT_THAT(text, Not(HasSubstr("SWITCHED OFF")));
}

TEST(Plan, SaysWhatIsSwitchedOff) {
  LayerSet without;
  without.add(Layer::proc_masks);
  without.add(Layer::network_namespace);
  const Plan plan = must_plan({}, Authority::root, without);

  EXPECT_EQ(plan.namespaces & CLONE_NEWNET, 0u);
  EXPECT_EQ(find(plan, StepKind::bind, "root/proc/kcore"), nullptr);
  EXPECT_THAT(describe(plan), HasSubstr("SWITCHED OFF"));
}

TEST(Layers, AreParsedByName) {
  const auto layers = parse_layers("seccomp,landlock");

  ASSERT_TRUE(layers);
  EXPECT_TRUE(layers->has(Layer::seccomp));
  EXPECT_TRUE(layers->has(Layer::landlock));
  EXPECT_FALSE(layers->has(Layer::root));
  EXPECT_FALSE(parse_layers("seccomp,nonsense"));
}

TEST(Layers, CannotBeSwitchedOffInAnInstalledProgram) {
  ASSERT_EQ(setenv("ATOLL_TEST_WITHOUT", "seccomp", 1), 0);
  const auto off = layers_switched_off();
  unsetenv("ATOLL_TEST_WITHOUT");

  ASSERT_TRUE(off);
  EXPECT_TRUE(off->empty());
}

TEST(Plan, FilesInThePoolAreAMountThatTheLauncherGives) {
  BoxRequest request;
  request.disk_bytes = 20ULL << 30;
  request.storage = Storage::pool;
  request.directories = {{"/data", ShownAs::rw}};
  const Plan plan = must_plan(request);

  const Step* store = find(plan, StepKind::tree, "store");
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->slot, 1);  // after the request's own
  EXPECT_EQ(store->attributes, uint64_t{MOUNT_ATTR_NOSUID} | MOUNT_ATTR_NODEV);
  EXPECT_EQ(find(plan, StepKind::tmpfs, "store"), nullptr);
  EXPECT_THAT(describe(plan), HasSubstr("20 GiB in the storage pool"));
}

TEST(Plan, SharedMemoryIsMemoryBesideThePoolToo) {
  BoxRequest request;
  request.disk_bytes = 20ULL << 30;
  request.storage = Storage::pool;
  const Plan plan = must_plan(request);

  ASSERT_NE(find(plan, StepKind::tmpfs, "memory"), nullptr);
  EXPECT_EQ(find(plan, StepKind::bind, "root/dev/shm")->source, "memory/shm");
}

TEST(Plan, WithoutRootThereIsNoPool) {
  BoxRequest request;
  request.disk_bytes = 20ULL << 30;
  request.storage = Storage::pool;

  const Plan plan = must_plan(request, Authority::rootless);

  EXPECT_EQ(plan.storage, Storage::memory);
  EXPECT_NE(find(plan, StepKind::tmpfs, "store"), nullptr);
}

HostView host_with_runsc() {
  HostView host = some_host();
  host.agent_program = "/libexec/atoll-agent";
  host.runtime_program = "/usr/bin/runsc";
  return host;
}

TEST(Plan, ASecondKernelNeedsItsProgramAndRoot) {
  BoxRequest request;
  request.sentry = true;

  EXPECT_EQ(plan_for(request).error().code(), Code::unavailable);
  EXPECT_THAT(plan_for(request).error().hint(), HasSubstr("apt install runsc"));
  EXPECT_FALSE(make_plan(kId, request, host_with_runsc(), Authority::rootless, CgroupSlice(), {}));
}

TEST(Plan, WhatASecondKernelTakesIsAddedToItsCommands) {
  BoxRequest request;
  request.sentry = true;
  request.memory_bytes = 128ULL << 20;
  const auto groups = CgroupSlice::as_told(CgroupVersion::v2, kRoleMemory | kRolePids);

  const auto plan = make_plan(kId, request, host_with_runsc(), Authority::root, groups, {});

  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->cgroup.memory_bytes, request.memory_bytes + kSentryMemory);
  EXPECT_EQ(plan->cgroup.pids, kSentryProcesses);
  EXPECT_TRUE(std::ranges::any_of(plan->rlimits, [&](const PlannedLimit& limit) {
    return limit.resource == RLIMIT_AS && limit.value == request.memory_bytes;
  }));
  // Its state lies where the sandbox's own /dev covers it, and nothing there is shared.
  ASSERT_NE(find(*plan, StepKind::tmpfs, "root/dev/runtime"), nullptr);
  EXPECT_EQ(plan->shared_steps, 0U);
  EXPECT_EQ(find(*plan, StepKind::mask, "root/proc"), nullptr);
  EXPECT_THAT(describe(*plan), HasSubstr("second kernel"));
  EXPECT_THAT(describe(*plan), Not(HasSubstr("landlock")));
}

}  // namespace
}  // namespace atl::native
