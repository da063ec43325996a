// How sandboxes begin and end, and what is there afterwards.
#include <gmock/gmock.h>

#include "base/ids.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/support/host_census.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using test::HostCensus;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

void create_gives_a_running_sandbox(DriverWorld& world) {
  Box box(world);

  EXPECT_EQ(box.sandbox().id(), box.id());
  EXPECT_TRUE(box.sandbox().is_running());
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void a_new_workspace_is_empty(DriverWorld& world) {
  Box box(world);

  EXPECT_THAT(must(world.run(box.guest().list("", 100))), IsEmpty());
}

void create_with_a_taken_id_is_refused(DriverWorld& world) {
  Box first(world);
  first.write("kept", "mine");
  SandboxSpec spec;
  spec.id = first.id();

  EXPECT_CODE(Code::already_exists, world.run(world.create(std::move(spec))));

  EXPECT_EQ(first.read("kept"), "mine");
  EXPECT_EQ(first.exec({"true"}).status.exit_code, 0);
}

void create_with_a_malformed_id_is_refused(DriverWorld& world) {
  for (const char* id : {"../evil", "sbx", "SBX00000000000000000000", "sbx/0000000000000000000"}) {
    SandboxSpec spec;
    spec.id = id;

    EXPECT_CODE(Code::invalid_argument, world.run(world.create(std::move(spec))));
  }
  EXPECT_THAT(must(world.run(world.driver().list())), IsEmpty());
}

void destroy_leaves_nothing(DriverWorld& world) {
  const auto before = HostCensus::take(world.root());
  {
    Box box(world);
    box.sh(
        "mkdir -p a/b/c; echo x > a/b/c/file; ln -s a link; setsid sleep 1000 & sleep 1000 & echo "
        "$!");
    must(world.run(box.sandbox().destroy()));
  }

  std::string left;
  world.eventually([&] { return (left = HostCensus::take(world.root()).since(before)).empty(); },
                   5s);

  EXPECT_EQ(left, "");
}

void destroy_is_idempotent(DriverWorld& world) {
  Box box(world);

  EXPECT_EQ(outcome(world.run(box.sandbox().destroy())), "done");
  EXPECT_EQ(outcome(world.run(box.sandbox().destroy())), "done");
  EXPECT_FALSE(box.sandbox().is_running());
}

void destroy_ends_what_runs(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("echo begun; sleep 1000");

  must(world.run(box.sandbox().destroy()));
  auto told = box.read_to_end(*process);

  EXPECT_THAT(told.status.reason, testing::AnyOf(ExitReason::killed, ExitReason::infra));
}

void calls_after_destroy_are_unavailable(DriverWorld& world) {
  Box box(world);
  must(world.run(box.sandbox().destroy()));

  EXPECT_CODE(Code::unavailable, box.try_exec(request_of({"true"})));
  EXPECT_CODE(Code::unavailable, world.run(box.guest().stat("x")));
  EXPECT_CODE(Code::unavailable, world.run(box.guest().processes()));
}

void destroy_by_id_removes_an_orphan(DriverWorld& world) {
  Box box(world);

  must(world.run(world.driver().destroy_orphan(box.id())));

  EXPECT_THAT(must(world.run(world.driver().list())), IsEmpty());
  EXPECT_EQ(outcome(world.run(world.driver().destroy_orphan(box.id()))), "done");
}

void list_shows_exactly_the_live_ones(DriverWorld& world) {
  Box first(world);
  Box second(world);
  {
    Box third(world);
    EXPECT_THAT(must(world.run(world.driver().list())),
                UnorderedElementsAre(first.id(), second.id(), third.id()));
  }

  EXPECT_THAT(must(world.run(world.driver().list())),
              UnorderedElementsAre(first.id(), second.id()));
}

void attach_to_an_unknown_id_is_not_found(DriverWorld& world) {
  EXPECT_CODE(Code::not_found, world.run(world.driver().attach(make_sandbox_id())));
}

void sandboxes_do_not_share_workspaces(DriverWorld& world) {
  Box first(world);
  Box second(world);
  first.write("name", "first");
  second.write("name", "second");

  EXPECT_EQ(first.sh("cat name").out, "first");
  EXPECT_EQ(second.sh("cat name").out, "second");
}

void stop_ends_processes_and_keeps_files(DriverWorld& world) {
  Box box(world);
  box.write("kept", "still here");
  auto process = box.start_sh("sleep 1000");

  must(world.run(box.sandbox().stop()));
  auto told = box.read_to_end(*process);
  must(world.run(box.sandbox().recreate({})));

  EXPECT_EQ(told.status.reason, ExitReason::killed);
  EXPECT_EQ(box.read("kept"), "still here");
}

void recreate_keeps_files_and_environment(DriverWorld& world) {
  Box box(world, spec_with({{"COLOUR", "green"}}));
  box.write("kept", "still here");
  box.start_sh("sleep 1000");
  SandboxSpec spec = spec_with({{"COLOUR", "green"}});
  spec.id = box.id();

  must(world.run(box.sandbox().recreate(std::move(spec))));

  EXPECT_TRUE(box.sandbox().is_running());
  EXPECT_EQ(box.sh("cat kept; printf \" $COLOUR\"").out, "still here green");
  for (const auto& process : must(world.run(box.guest().processes())))
    EXPECT_FALSE(process.running);
}

SandboxSpec expiring(Micros at) {
  SandboxSpec spec;
  spec.expires_at = at;
  return spec;
}

void a_sandbox_ends_by_itself_when_its_time_is_up(DriverWorld& world) {
  Box box(world, expiring(system_clock().boot() + 1s));
  auto process = box.start_sh("sleep 1000");

  const bool told = world.eventually([&] { return world.how_ended(box.id()).has_value(); });

  ASSERT_TRUE(told);
  EXPECT_EQ(world.how_ended(box.id()), EndedBy::expiry);
  EXPECT_FALSE(box.sandbox().is_running());
  EXPECT_CODE(Code::unavailable, box.try_exec(request_of({"true"})));
}

// Long enough to make one sandbox and to renew it, on a busy machine too.
constexpr auto kSoon = 1500ms;

void renew_moves_the_end(DriverWorld& world) {
  const Micros first_end = system_clock().boot() + kSoon;
  Box longer(world, expiring(first_end));
  must(world.run(longer.sandbox().renew(first_end + 1h)));
  Box shorter(world, expiring(first_end + 1h));
  Box witness(world, expiring(first_end + 1h));

  must(world.run(shorter.sandbox().renew(first_end + 50ms)));
  must(world.run(witness.sandbox().renew(first_end + 100ms)));

  // The witness goes after the moment that `longer` had at first.
  ASSERT_TRUE(world.eventually([&] { return world.how_ended(shorter.id()).has_value(); }));
  ASSERT_TRUE(world.eventually([&] { return world.how_ended(witness.id()).has_value(); }));
  EXPECT_EQ(world.how_ended(longer.id()), std::nullopt);
  EXPECT_EQ(longer.exec({"true"}).status.exit_code, 0);
}

void a_time_of_zero_is_never(DriverWorld& world) {
  const Micros first_end = system_clock().boot() + kSoon;
  Box forever(world, expiring(first_end));
  must(world.run(forever.sandbox().renew(Micros(0))));
  Box witness(world, expiring(first_end + 1h));

  must(world.run(witness.sandbox().renew(first_end + 50ms)));

  ASSERT_TRUE(world.eventually([&] { return world.how_ended(witness.id()).has_value(); }));
  EXPECT_EQ(world.how_ended(forever.id()), std::nullopt);
}

void two_hundred_create_destroy_pairs_leave_nothing(DriverWorld& world) {
  const auto before = HostCensus::take(world.root());
  for (int i = 0; i < 200; ++i) {
    Box box(world);
    if (i % 20 == 0) box.sh("echo x > file; sleep 1000 &");
  }

  std::string left;
  world.eventually([&] { return (left = HostCensus::take(world.root()).since(before)).empty(); },
                   10s);

  EXPECT_EQ(left, "");
}

constexpr uint64_t kMib = 1 << 20;

void stats_tell_what_is_used(DriverWorld& world) {
  Box box(world);
  EXPECT_EQ(box.probe({"spin", "300"}).status.exit_code, 0);
  auto process = box.start_sh("./conformance_probe hold 32; true");
  must(world.run(process->next()));

  auto stats = must(world.run(box.sandbox().stats()));

  EXPECT_EQ(stats.processes, 2U);  // the shell, and what holds the memory
  EXPECT_GE(stats.memory_bytes, 32 * kMib);
  EXPECT_LT(stats.memory_bytes, 96 * kMib);
  // What has ended counts, too.
  EXPECT_GE(stats.cpu, 250ms);
  EXPECT_LT(stats.cpu, 30s);
  EXPECT_GT(stats.age.count(), 0);
  EXPECT_LT(stats.age, 60s);
}

bool counts_all_memory(const Subject& subject) {
  return subject.can.own_root && subject.can.limits.memory == Limit::enforced;
}

// No process has them, and they count against the sandbox's limit.
void stats_count_files_in_memory(DriverWorld& world) {
  Box box(world);
  const auto before = must(world.run(box.sandbox().stats()));
  EXPECT_EQ(box.sh("head -c 33554432 /dev/zero > /dev/shm/held").status.exit_code, 0);

  const auto with = must(world.run(box.sandbox().stats()));
  EXPECT_EQ(box.sh("rm /dev/shm/held").status.exit_code, 0);
  const auto without = must(world.run(box.sandbox().stats()));

  // Other memory may go meanwhile.
  EXPECT_GE(with.memory_bytes, before.memory_bytes + 24 * kMib);
  EXPECT_GE(with.memory_bytes, without.memory_bytes + 24 * kMib);
  EXPECT_LT(with.memory_bytes, 96 * kMib);
}

constexpr Behaviour kBehaviours[] = {
    {"create_gives_a_running_sandbox", create_gives_a_running_sandbox},
    {"a_new_workspace_is_empty", a_new_workspace_is_empty},
    {"create_with_a_taken_id_is_refused", create_with_a_taken_id_is_refused},
    {"create_with_a_malformed_id_is_refused", create_with_a_malformed_id_is_refused},
    {"sandboxes_do_not_share_workspaces", sandboxes_do_not_share_workspaces},
    {"list_shows_exactly_the_live_ones", list_shows_exactly_the_live_ones},
    {"attach_to_an_unknown_id_is_not_found", attach_to_an_unknown_id_is_not_found},
    {"stats_tell_what_is_used", stats_tell_what_is_used},
    {"stats_count_files_in_memory", stats_count_files_in_memory, counts_all_memory},
    {"stop_ends_processes_and_keeps_files", stop_ends_processes_and_keeps_files},
    {"recreate_keeps_files_and_environment", recreate_keeps_files_and_environment},
    {"a_sandbox_ends_by_itself_when_its_time_is_up", a_sandbox_ends_by_itself_when_its_time_is_up},
    {"renew_moves_the_end", renew_moves_the_end},
    {"a_time_of_zero_is_never", a_time_of_zero_is_never},
    {"destroy_leaves_nothing", destroy_leaves_nothing},
    {"destroy_is_idempotent", destroy_is_idempotent},
    {"destroy_ends_what_runs", destroy_ends_what_runs},
    {"calls_after_destroy_are_unavailable", calls_after_destroy_are_unavailable},
    {"destroy_by_id_removes_an_orphan", destroy_by_id_removes_an_orphan},
    {"two_hundred_create_destroy_pairs_leave_nothing",
     two_hundred_create_destroy_pairs_leave_nothing},
};

}  // namespace

std::span<const Behaviour> lifecycle_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
