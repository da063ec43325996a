// What is told about commands that run and that have run.
#include <gmock/gmock.h>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::ElementsAre;
using namespace std::chrono_literals;

void the_list_shows_running_and_finished_ones(DriverWorld& world) {
  Box box(world);
  const auto before = system_clock().wall() - 1s;
  auto finished = box.start(request_of({"sh", "-c", "echo 1234; echo 12 >&2; exit 5"}));
  box.read_to_end(*finished);
  auto running = box.start_sh("echo up; sleep 1000");
  must(world.run(running->next()));

  const auto past = box.info_of(finished->id());
  const auto present = box.info_of(running->id());

  EXPECT_FALSE(past.running);
  EXPECT_THAT(past.argv, ElementsAre("sh", "-c", "echo 1234; echo 12 >&2; exit 5"));
  EXPECT_EQ(past.status.exit_code, 5);
  EXPECT_EQ(past.stdout_first, 0U);
  EXPECT_EQ(past.stdout_end, 5U);
  EXPECT_EQ(past.stderr_end, 3U);
  EXPECT_GE(past.started_at, before);
  EXPECT_LE(past.started_at, system_clock().wall() + 1s);
  EXPECT_TRUE(present.running);
  EXPECT_GT(present.pid, 0);
  EXPECT_EQ(present.stdout_end, 3U);
  EXPECT_GE(present.started_at, past.started_at);
}

void process_ids_are_not_reused(DriverWorld& world) {
  Box box(world);
  ProcessId last = 0;
  for (int i = 0; i < 20; ++i) {
    auto process = box.start(request_of({"true"}));
    EXPECT_GT(process->id(), last);
    last = process->id();
    box.read_to_end(*process);
  }
}

void attach_to_an_unknown_process_is_not_found(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::not_found, world.run(box.guest().attach(4711, {})));
  EXPECT_CODE(Code::not_found, world.run(box.guest().signal(4711, 15)));
}

void the_end_is_the_last_event(DriverWorld& world) {
  Box box(world);
  auto process = box.start(request_of({"true"}));
  box.read_to_end(*process);

  EXPECT_FALSE(world.run(process->next()).has_value());
}

void duration_is_told(DriverWorld& world) {
  Box box(world);

  const auto status = box.exec({"sleep", "0.2"}).status;

  EXPECT_GE(status.duration, 200ms);
  EXPECT_LT(status.duration, 10s);
}

void used_cpu_time_is_told(DriverWorld& world) {
  Box box(world);

  const auto busy = box.probe({"spin", "200"}).status;
  const auto brief = box.exec({"sleep", "0"}).status;
  const auto idle = box.exec({"sleep", "0.6"}).status;

  EXPECT_GE(busy.usage.cpu_user + busy.usage.cpu_system, 190ms);
  EXPECT_LT(busy.usage.cpu_user + busy.usage.cpu_system, 2s);
  // Starting a program costs something, on a slow machine a tenth of a second; waiting costs
  // nothing.
  const Micros started = brief.usage.cpu_user + brief.usage.cpu_system;
  EXPECT_LT(idle.usage.cpu_user + idle.usage.cpu_system - started, 200ms);
}

void peak_memory_is_told(DriverWorld& world) {
  Box box(world);

  const auto large = box.probe({"allocate", "48"}).status;
  const auto small = box.probe({"allocate", "1"}).status;

  EXPECT_GE(large.usage.peak_memory_bytes, 48U << 20);
  EXPECT_LT(large.usage.peak_memory_bytes, 80U << 20);
  EXPECT_LT(small.usage.peak_memory_bytes, 32U << 20);
}

void output_bytes_are_told(DriverWorld& world) {
  Box box(world);

  const auto status = box.sh("printf 12345; printf 123 >&2").status;

  EXPECT_EQ(status.usage.stdout_bytes, 5U);
  EXPECT_EQ(status.usage.stderr_bytes, 3U);
}

void orphans_are_reaped(DriverWorld& world) {
  Box box(world);
  for (int i = 0; i < 10; ++i) box.sh("(sleep 0.01 &) ; (true &) ; (setsid true &)");
  box.put_probe();

  const bool reaped = world.eventually([&] { return box.ask_probe({"zombies"}) == "0"; });

  EXPECT_TRUE(reaped);
}

struct Finished {
  std::optional<Result<ExecResult>> result;
};

Task<> exec_into(Guest& guest, ExecRequest request, std::shared_ptr<Finished> finished) {
  auto result = co_await exec_collect(guest, std::move(request), {}, 1 << 20);
  finished->result.emplace(std::move(result));
  co_return Result<>();
}

void fifty_commands_at_once_are_all_right(DriverWorld& world) {
  Box box(world);
  std::vector<std::shared_ptr<Finished>> all;
  for (int i = 0; i < 50; ++i) {
    auto& finished = all.emplace_back(std::make_shared<Finished>());
    const std::string number = std::to_string(i);
    auto request =
        sh_request("echo out " + number + "; echo err " + number + " >&2; exit " + number);
    spawn(world.loop().get_executor(), exec_into(box.guest(), std::move(request), finished));
  }

  const auto has_ended = [](const auto& finished) { return finished->result.has_value(); };
  ASSERT_TRUE(world.eventually([&] { return std::ranges::all_of(all, has_ended); }));

  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]->result->has_value()) << outcome(*all[i]->result);
    const auto& result = **all[i]->result;
    EXPECT_EQ(result.status.exit_code, static_cast<int>(i));
    EXPECT_EQ(result.out, "out " + std::to_string(i) + "\n");
    EXPECT_EQ(result.err, "err " + std::to_string(i) + "\n");
  }
}

void a_long_history_stays_bounded(DriverWorld& world) {
  Box box(world);
  ProcessId last = 0;
  for (int i = 0; i < 250; ++i) {
    auto process = box.start(request_of({"true"}));
    last = process->id();
    box.read_to_end(*process);
  }

  const auto list = must(world.run(box.guest().processes()));

  EXPECT_LT(list.size(), 200U);
  EXPECT_EQ(list.back().id, last);
}

constexpr Behaviour kBehaviours[] = {
    {"the_list_shows_running_and_finished_ones", the_list_shows_running_and_finished_ones},
    {"process_ids_are_not_reused", process_ids_are_not_reused},
    {"attach_to_an_unknown_process_is_not_found", attach_to_an_unknown_process_is_not_found},
    {"the_end_is_the_last_event", the_end_is_the_last_event},
    {"duration_is_told", duration_is_told},
    {"used_cpu_time_is_told", used_cpu_time_is_told},
    {"peak_memory_is_told", peak_memory_is_told},
    {"output_bytes_are_told", output_bytes_are_told},
    {"orphans_are_reaped", orphans_are_reaped},
    {"fifty_commands_at_once_are_all_right", fifty_commands_at_once_are_all_right},
    {"a_long_history_stays_bounded", a_long_history_stays_bounded},
};

}  // namespace

std::span<const Behaviour> process_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
