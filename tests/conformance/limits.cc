// Each limit that a driver declares is reached, and holds.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>

#include "os/process.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/support/host_census.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using test::HostCensus;
using namespace std::chrono_literals;

SandboxSpec limited(Resources resources) {
  SandboxSpec spec;
  spec.resources = resources;
  return spec;
}

bool limits_memory(const Subject& subject) { return subject.can.limits.memory != Limit::none; }
bool limits_memory_together(const Subject& subject) {
  return subject.can.limits.memory == Limit::enforced;
}
bool limits_open_files(const Subject& subject) {
  return subject.can.limits.open_files != Limit::none;
}
bool limits_pids(const Subject& subject) { return subject.can.limits.pids != Limit::none; }
bool limits_disk(const Subject& subject) { return subject.can.limits.disk != Limit::none; }
bool limits_cpu(const Subject& subject) { return subject.can.limits.cpu == Limit::enforced; }

void memory_beyond_the_limit_is_not_given(DriverWorld& world) {
  Box box(world, limited({.memory_mb = 64}));

  const auto within = box.probe({"allocate", "32"});
  const auto beyond = box.probe({"allocate", "200"});

  EXPECT_EQ(within.out, "ok\n");
  EXPECT_NE(beyond.status.exit_code, 0);
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void memory_is_limited_for_all_processes_together(DriverWorld& world) {
  Box box(world, limited({.memory_mb = 64}));
  box.put_probe();

  const auto result = box.sh("for i in 1 2 3 4; do ./conformance_probe allocate 40 & done; wait");

  EXPECT_EQ(result.out.find("ok\nok\nok\nok"), std::string::npos);
}

void open_files_are_limited(DriverWorld& world) {
  Box box(world);

  const int opened = std::stoi(box.ask_probe({"open_many"}));

  EXPECT_GE(opened, 64);
  EXPECT_LE(opened, 65'536);
}

void processes_are_limited(DriverWorld& world) {
  Box box(world, limited({.pids = 32}));

  EXPECT_LT(std::stoi(box.ask_probe({"fork_many", "200"})), 32);
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void disk_space_is_limited(DriverWorld& world) {
  Box box(world, limited({.disk_mb = 16}));

  EXPECT_NE(box.sh("head -c 64000000 /dev/zero > large").status.exit_code, 0);
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

// By everything under the launcher, as long as it lives.
std::chrono::duration<double> used_on_host(const DriverWorld& world) {
  uint64_t ticks = 0;
  for (const auto& process : HostCensus::processes_of(world.root())) {
    if (const auto stat = os::find_process(process.pid)) ticks += stat->cpu_ticks;
  }
  return std::chrono::duration<double>(static_cast<double>(ticks) /
                                       static_cast<double>(sysconf(_SC_CLK_TCK)));
}

void cpu_time_is_shared_out(DriverWorld& world) {
  Box box(world, limited({.cpu = 0.25}));

  if (world.can().isolation != Isolation::sentry) {
    EXPECT_GE(box.probe({"spin", "300"}).status.duration, 800ms);
    return;
  }
  // In gVisor a process that waits for a processor uses it, so the host's account has to be asked.
  auto busy = box.start_sh("while :; do :; done");
  const auto began = std::chrono::steady_clock::now();
  const auto before = used_on_host(world);
  box.exec({"sleep", "2"});
  const auto used = used_on_host(world) - before;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

  EXPECT_GT(used.count(), 0.02 * took.count());
  EXPECT_LT(used.count(), 0.4 * took.count());
}

constexpr Behaviour kBehaviours[] = {
    {"memory_beyond_the_limit_is_not_given", memory_beyond_the_limit_is_not_given, limits_memory},
    {"memory_is_limited_for_all_processes_together", memory_is_limited_for_all_processes_together,
     limits_memory_together},
    {"open_files_are_limited", open_files_are_limited, limits_open_files},
    {"processes_are_limited", processes_are_limited, limits_pids},
    {"disk_space_is_limited", disk_space_is_limited, limits_disk},
    {"cpu_time_is_shared_out", cpu_time_is_shared_out, limits_cpu},
};

}  // namespace

std::span<const Behaviour> limit_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
