// What clients, the launcher or an agent may do wrong, die of, and be replaced after.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "os/process.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/support/host_census.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using test::HostCensus;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

bool is_under_launcher(const Subject& subject) { return subject.is_under_launcher; }

void attach_finds_running_processes_and_their_output(DriverWorld& world) {
  Box box(world, spec_with({{"COLOUR", "green"}}));
  auto process =
      box.start_sh("echo before; until [ -e go ]; do sleep 0.01; done; echo after $COLOUR; exit 3");
  must(world.run(process->next()));
  const ProcessId id = process->id();
  process.reset();

  box.reattach();
  EXPECT_TRUE(box.sandbox().is_running());
  EXPECT_TRUE(box.info_of(id).running);
  box.write("go", "");
  auto again = must(world.run(box.guest().attach(id, {})));
  auto told = box.read_to_end(*again);

  EXPECT_EQ(told.out, "before\nafter green\n");
  EXPECT_EQ(told.status.exit_code, 3);
}

void output_written_while_nobody_was_there_is_kept(DriverWorld& world) {
  Box box(world);
  auto process =
      box.start_sh("until [ -e go ]; do sleep 0.01; done; seq 1 5000; seq 1 5000 >&2; : > done");
  const ProcessId id = process->id();
  process.reset();
  box.write("go", "");
  box.reattach();
  box.wait_until_ended(id);
  const std::string expected = box.sh("seq 1 5000").out;

  auto again = must(world.run(box.guest().attach(id, {})));
  auto told = box.read_to_end(*again);

  EXPECT_EQ(told.out, expected);
  EXPECT_EQ(told.err, expected);
  EXPECT_THAT(told.gaps, IsEmpty());
  EXPECT_EQ(told.status.exit_code, 0);
}

void a_broken_connection_is_made_anew(DriverWorld& world) {
  Box box(world);
  box.write("kept", "still here");

  box.reattach();
  box.reattach();

  EXPECT_EQ(box.read("kept"), "still here");
  EXPECT_THAT(must(world.run(world.driver().list())), ElementsAre(box.id()));
}

void kill_launcher(DriverWorld& world) {
  const auto pid = world.launcher_pid();
  if (!pid || kill(*pid, SIGKILL) != 0)
    stop_case("the launcher is not there to be killed", Where::current());
  const auto is_gone = [&] {
    const auto found = os::find_process(*pid);
    if (!found) return true;
    // Its descriptors are open until its last thread has ended.
    const std::filesystem::path threads = "/proc/" + std::to_string(*pid) + "/task";
    std::error_code none;
    return found->state == 'Z' &&
           std::distance(std::filesystem::directory_iterator(threads, none), {}) <= 1;
  };
  if (!world.eventually(is_gone)) stop_case("the launcher does not die", Where::current());
}

void sandboxes_survive_the_death_of_the_launcher(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("echo before; until [ -e go ]; do sleep 0.01; done; echo after");
  must(world.run(process->next()));

  kill_launcher(world);

  EXPECT_THAT(must(world.run(world.driver().list())), ElementsAre(box.id()));
  box.write("go", "");
  EXPECT_EQ(box.read_to_end(*process, {7, 0}).out, "after\n");
  EXPECT_EQ(world.how_ended(box.id()), std::nullopt);
  box.reattach();
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void sandboxes_can_be_made_after_the_death_of_the_launcher(DriverWorld& world) {
  kill_launcher(world);

  Box box(world);

  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void adopted_sandboxes_are_destroyed_completely(DriverWorld& world) {
  const auto before = HostCensus::take(world.root());
  {
    Box box(world);
    box.sh("echo x > file; setsid sleep 1000 & sleep 1000 &");
    kill_launcher(world);
  }

  std::string left;
  world.eventually([&] { return (left = HostCensus::take(world.root()).since(before)).empty(); },
                   5s);

  EXPECT_EQ(left, "");
}

void an_expiry_holds_across_the_death_of_the_launcher(DriverWorld& world) {
  SandboxSpec spec;
  spec.expires_at = system_clock().boot() + 1500ms;
  Box box(world, std::move(spec));

  kill_launcher(world);

  // Whether its end comes before or after somebody listens again, it is told.
  const auto has_ended = [&] { return must(world.run(world.driver().list())).empty(); };
  ASSERT_TRUE(world.eventually(has_ended));
  EXPECT_FALSE(box.sandbox().is_running());
  EXPECT_EQ(world.how_ended(box.id()), EndedBy::expiry);
}

// In a pid namespace of its own an agent does not know what it is called outside.
// The first process of the only sandbox: what the launcher has started, and no worker of its own.
pid_t only_agent(const DriverWorld& world) {
  std::vector<pid_t> found;
  for (const auto& process : os::all_processes()) {
    std::ifstream name("/proc/" + std::to_string(process.pid) + "/comm");
    std::string text;
    if (process.state != 'Z' && process.parent == world.launcher_pid() &&
        std::getline(name, text) && (text == "atoll-agent" || text == "atoll-oci"))
      found.push_back(process.pid);
  }
  return found.size() == 1 ? found.front() : 0;
}

void the_death_of_the_agent_is_told_and_leaves_nothing(DriverWorld& world) {
  const auto before = HostCensus::take(world.root());
  {
    Box box(world);
    const pid_t agent = only_agent(world);
    ASSERT_GT(agent, 1);
    box.sh("setsid sleep 1000 & echo x > file");
    auto process = box.start_sh("sleep 1000");

    ASSERT_EQ(kill(agent, SIGKILL), 0);

    EXPECT_EQ(box.read_to_end(*process).status.reason, ExitReason::infra);
    ASSERT_TRUE(world.eventually([&] { return world.how_ended(box.id()).has_value(); }));
    EXPECT_EQ(world.how_ended(box.id()), EndedBy::death);
    EXPECT_FALSE(box.sandbox().is_running());
    EXPECT_CODE(Code::unavailable, box.try_exec(request_of({"true"})));
  }

  std::string left;
  world.eventually([&] { return (left = HostCensus::take(world.root()).since(before)).empty(); },
                   5s);

  EXPECT_EQ(left, "");
}

void a_launcher_without_work_leaves(DriverWorld& world) {
  auto own = test::DriverWorld::open(world.driver().name());
  ASSERT_TRUE(own) << own.error().message();
  {
    Box box(**own);
  }
  const std::string run = (*own)->run_directory();

  (*own)->leave();
  const bool left =
      (*own)->eventually([&] { return HostCensus::processes_of((*own)->root()).empty(); });

  EXPECT_TRUE(left);
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    EXPECT_EQ(entry.path().filename(), "launcher.log");
  }
}

constexpr Behaviour kBehaviours[] = {
    {"attach_finds_running_processes_and_their_output",
     attach_finds_running_processes_and_their_output},
    {"output_written_while_nobody_was_there_is_kept",
     output_written_while_nobody_was_there_is_kept},
    {"a_broken_connection_is_made_anew", a_broken_connection_is_made_anew},
    {"sandboxes_survive_the_death_of_the_launcher", sandboxes_survive_the_death_of_the_launcher,
     is_under_launcher},
    {"sandboxes_can_be_made_after_the_death_of_the_launcher",
     sandboxes_can_be_made_after_the_death_of_the_launcher, is_under_launcher},
    {"adopted_sandboxes_are_destroyed_completely", adopted_sandboxes_are_destroyed_completely,
     is_under_launcher},
    {"an_expiry_holds_across_the_death_of_the_launcher",
     an_expiry_holds_across_the_death_of_the_launcher, is_under_launcher},
    {"the_death_of_the_agent_is_told_and_leaves_nothing",
     the_death_of_the_agent_is_told_and_leaves_nothing, is_under_launcher},
    {"a_launcher_without_work_leaves", a_launcher_without_work_leaves, is_under_launcher},
};

}  // namespace

std::span<const Behaviour> recovery_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
