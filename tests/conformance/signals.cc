// Signals and timeouts: whom they reach, and what is said about the end.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using namespace std::chrono_literals;

void a_signal_reaches_the_process(DriverWorld& world) {
  Box box(world);
  auto process =
      box.start_sh("trap 'echo got it; exit 5' TERM; : > ready; while :; do sleep 0.01; done");
  box.wait_for_file("ready");

  must(world.run(box.guest().signal(process->id(), SIGTERM)));
  const auto told = box.read_to_end(*process);

  EXPECT_EQ(told.out, "got it\n");
  EXPECT_EQ(told.status.exit_code, 5);
  EXPECT_EQ(told.status.reason, ExitReason::exited);
}

// The family's pids, once all four are there.
std::vector<std::string> family_in(Box& box, const std::string& directory,
                                   Where where = Where::current()) {
  std::vector<std::string> pids;
  for (const char* name : {"first", "child", "grandchild", "orphan"}) {
    pids.push_back(box.wait_for_file(directory + "/" + name, where));
  }
  return pids;
}

ExecRequest family_request() { return request_of({"./conformance_probe", "family", "."}); }

bool all_are_gone(Box& box, std::vector<std::string> pids) {
  pids.insert(pids.begin(), "living");
  return box.world().eventually([&] { return box.ask_probe(pids).empty(); }, 5s);
}

void a_signal_reaches_the_whole_tree(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  auto process = box.start(family_request());
  const auto pids = family_in(box, ".");

  must(world.run(box.guest().signal(process->id(), SIGTERM)));
  const auto told = box.read_to_end(*process);

  EXPECT_EQ(told.status.reason, ExitReason::signaled);
  EXPECT_EQ(told.status.signal, SIGTERM);
  EXPECT_TRUE(all_are_gone(box, pids));
}

void a_signal_reaches_no_other_command(DriverWorld& world) {
  Box box(world);
  auto first = box.start_sh("sleep 1000");
  auto second = box.start_sh("sleep 1000");

  must(world.run(box.guest().signal(first->id(), SIGKILL)));
  box.read_to_end(*first);

  EXPECT_TRUE(box.info_of(second->id()).running);
}

void a_kill_is_told_as_killed(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  auto process = box.start(family_request());
  const auto pids = family_in(box, ".");

  must(world.run(box.guest().signal(process->id(), SIGKILL)));
  const auto told = box.read_to_end(*process);

  EXPECT_EQ(told.status.reason, ExitReason::killed);
  EXPECT_EQ(told.status.exit_code, 128 + SIGKILL);
  EXPECT_EQ(told.status.signal, SIGKILL);
  EXPECT_TRUE(all_are_gone(box, pids));
}

void death_by_a_signal_is_128_plus_its_number(DriverWorld& world) {
  Box box(world);

  for (const int number : {SIGSEGV, SIGABRT, SIGTERM, SIGKILL}) {
    const auto status = box.probe({"die", std::to_string(number)}).status;

    EXPECT_EQ(status.exit_code, 128 + number);
    EXPECT_EQ(status.signal, number);
    EXPECT_EQ(status.reason, ExitReason::signaled);
  }
}

void a_signal_to_a_finished_process_is_a_conflict(DriverWorld& world) {
  Box box(world);
  auto process = box.start(request_of({"true"}));
  box.read_to_end(*process);

  EXPECT_CODE(Code::conflict, world.run(box.guest().signal(process->id(), SIGTERM)));
}

void a_signal_that_does_not_exist_is_refused(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("sleep 1000");

  for (const int number : {0, -1, 65, 100'000}) {
    EXPECT_CODE(Code::invalid_argument, world.run(box.guest().signal(process->id(), number)));
  }
  EXPECT_TRUE(box.info_of(process->id()).running);
}

bool limits_time(const Subject& subject) { return subject.can.limits.wall_time != Limit::none; }

void a_timeout_ends_the_whole_tree_with_124(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  auto request = family_request();
  request.timeout = 1500ms;
  auto process = box.start(std::move(request));
  const auto pids = family_in(box, ".");

  const auto told = box.read_to_end(*process);

  EXPECT_EQ(told.status.reason, ExitReason::timeout);
  EXPECT_EQ(told.status.limit, HitLimit::wall_time);
  EXPECT_EQ(told.status.exit_code, 124);
  EXPECT_GE(told.status.duration, 1500ms);
  EXPECT_LT(told.status.duration, 5s);
  EXPECT_TRUE(all_are_gone(box, pids));
}

void a_timeout_cannot_be_ignored(DriverWorld& world) {
  Box box(world);
  auto request = sh_request("trap '' TERM INT HUP; while :; do sleep 1000; done");
  request.timeout = 100ms;

  EXPECT_EQ(must(box.try_exec(std::move(request))).status.reason, ExitReason::timeout);
}

void a_timeout_keeps_what_was_written(DriverWorld& world) {
  Box box(world);
  auto request = sh_request("echo begun; sleep 1000");
  request.timeout = 700ms;

  const auto result = must(box.try_exec(std::move(request)));

  EXPECT_EQ(result.out, "begun\n");
  EXPECT_EQ(result.status.exit_code, 124);
}

bool limits_cpu_time(const Subject& subject) { return subject.can.limits.cpu_time != Limit::none; }

void processor_time_runs_out_with_124(DriverWorld& world) {
  Box box(world);
  auto request = sh_request("while :; do :; done");
  request.cpu_time = 1s;
  request.timeout = 60s;

  const auto status = must(box.try_exec(std::move(request))).status;

  EXPECT_EQ(status.reason, ExitReason::timeout);
  EXPECT_EQ(status.limit, HitLimit::cpu_time);
  EXPECT_EQ(status.exit_code, 124);
  // Where the kernel counts for each process, it does so by ticks of a clock.
  const auto used = status.usage.cpu_user + status.usage.cpu_system;
  EXPECT_GE(used, 700ms);
  EXPECT_LT(used, 2500ms);
}

void waiting_uses_no_processor_time(DriverWorld& world) {
  Box box(world);
  auto request = sh_request("sleep 1.5; exit 3");
  request.cpu_time = 1s;

  const auto status = must(box.try_exec(std::move(request))).status;

  EXPECT_EQ(status.reason, ExitReason::exited);
  EXPECT_EQ(status.limit, HitLimit::none);
  EXPECT_EQ(status.exit_code, 3);
}

bool limits_cpu_time_of_all(const Subject& subject) {
  return subject.can.limits.cpu_time == Limit::enforced;
}

void processor_time_is_counted_for_the_whole_tree(DriverWorld& world) {
  Box box(world);
  // No process of it lasts long enough to use up anything alone.
  auto request = sh_request(
      "while :; do (i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done) & "
      "(i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done); wait; done");
  request.cpu_time = 300ms;
  request.timeout = 60s;

  const auto status = must(box.try_exec(std::move(request))).status;

  EXPECT_EQ(status.limit, HitLimit::cpu_time);
  EXPECT_LT(status.usage.cpu_user + status.usage.cpu_system, 800ms);
}

void a_process_that_is_in_time_is_left_alone(DriverWorld& world) {
  Box box(world);
  auto request = sh_request("exit 3");
  request.timeout = 20s;

  const auto status = must(box.try_exec(std::move(request))).status;

  EXPECT_EQ(status.reason, ExitReason::exited);
  EXPECT_EQ(status.exit_code, 3);
}

constexpr Behaviour kBehaviours[] = {
    {"a_signal_reaches_the_process", a_signal_reaches_the_process},
    {"a_signal_reaches_the_whole_tree", a_signal_reaches_the_whole_tree},
    {"a_signal_reaches_no_other_command", a_signal_reaches_no_other_command},
    {"a_kill_is_told_as_killed", a_kill_is_told_as_killed},
    {"death_by_a_signal_is_128_plus_its_number", death_by_a_signal_is_128_plus_its_number},
    {"a_signal_to_a_finished_process_is_a_conflict", a_signal_to_a_finished_process_is_a_conflict},
    {"a_signal_that_does_not_exist_is_refused", a_signal_that_does_not_exist_is_refused},
    {"a_timeout_ends_the_whole_tree_with_124", a_timeout_ends_the_whole_tree_with_124, limits_time},
    {"a_timeout_cannot_be_ignored", a_timeout_cannot_be_ignored, limits_time},
    {"a_timeout_keeps_what_was_written", a_timeout_keeps_what_was_written, limits_time},
    {"a_process_that_is_in_time_is_left_alone", a_process_that_is_in_time_is_left_alone,
     limits_time},
    {"processor_time_runs_out_with_124", processor_time_runs_out_with_124, limits_cpu_time},
    {"waiting_uses_no_processor_time", waiting_uses_no_processor_time, limits_cpu_time},
    {"processor_time_is_counted_for_the_whole_tree", processor_time_is_counted_for_the_whole_tree,
     limits_cpu_time_of_all},
};

}  // namespace

std::span<const Behaviour> signal_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
