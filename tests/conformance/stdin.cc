// stdin: closed by default, fed with flow control, ended by its client.
#include <gmock/gmock.h>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/conformance/pattern.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using namespace std::chrono_literals;

ExecRequest with_stdin(ExecRequest request) {
  request.stdin_mode = StdinMode::open;
  return request;
}

std::string pattern(size_t count) {
  std::string bytes(count, '\0');
  fill_pattern(bytes.data(), 0, count);
  return bytes;
}

void closed_stdin_is_at_its_end(DriverWorld& world) {
  Box box(world);

  const auto result = box.exec({"cat"});

  EXPECT_EQ(result.status.exit_code, 0);
  EXPECT_EQ(result.out, "");
}

void stdin_arrives_and_ends(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_stdin(sh_request("cat; echo end")));

  must(world.run(process->write_stdin("first ")));
  must(world.run(process->write_stdin(std::string("\0\xff second\n", 10))));
  must(world.run(process->close_stdin()));

  EXPECT_EQ(box.read_to_end(*process).out, "first " + std::string("\0\xff second\n", 10) + "end\n");
}

void output_comes_while_stdin_is_open(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_stdin(request_of({"cat"})));
  for (const char* line : {"one\n", "two\n", "three\n"}) {
    must(world.run(process->write_stdin(line)));

    auto event = must(world.run(process->next()));

    ASSERT_TRUE(std::holds_alternative<Output>(event));
    EXPECT_EQ(std::get<Output>(event).bytes, line);
  }
}

void ten_megabytes_flow_through(DriverWorld& world) {
  Box box(world);
  const std::string bytes = pattern(10'000'000);

  const auto result = must(box.try_exec(request_of({"cat"}), bytes));

  EXPECT_EQ(result.status.exit_code, 0);
  EXPECT_TRUE(result.out == bytes);
}

void one_large_write_arrives_whole(DriverWorld& world) {
  Box box(world);
  const std::string bytes = pattern(3 << 20);
  auto process = box.start(with_stdin(sh_request("cat > copy")));

  must(world.run(process->write_stdin(bytes)));
  must(world.run(process->close_stdin()));
  box.read_to_end(*process);

  EXPECT_TRUE(box.read("copy") == bytes);
}

void writing_waits_while_the_process_does_not_read(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_stdin(sh_request("until [ -e go ]; do sleep 0.01; done; wc -c")));
  const std::string bytes = pattern(500'000);
  struct Written {
    bool done = false;
  };
  const auto written = std::make_shared<Written>();
  spawn(world.loop().get_executor(), process->write_stdin(bytes),
        [written](Result<>) { written->done = true; });

  EXPECT_FALSE(world.eventually([&] { return written->done; }, 100ms));
  box.write("go", "");
  EXPECT_TRUE(world.eventually([&] { return written->done; }));
  must(world.run(process->close_stdin()));

  EXPECT_EQ(std::stoi(box.read_to_end(*process).out), 500'000);
}

void writing_to_a_process_that_closed_its_stdin_fails(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_stdin(sh_request("exec <&-; : > closed; sleep 1000")));
  box.wait_for_file("closed");

  EXPECT_CODE(Code::conflict, world.run(process->write_stdin(std::string(100'000, 'x'))));
  EXPECT_TRUE(box.info_of(process->id()).running);
}

void writing_to_a_finished_process_fails(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_stdin(request_of({"true"})));
  box.read_to_end(*process);

  EXPECT_CODE(Code::conflict, world.run(process->write_stdin("x")));
}

void writing_without_an_open_stdin_fails(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("sleep 1000");

  EXPECT_CODE(Code::conflict, world.run(process->write_stdin("x")));
}

void a_process_that_ignores_its_stdin_still_ends(DriverWorld& world) {
  Box box(world);

  const auto result = must(box.try_exec(sh_request("exit 6"), std::string(5'000'000, 'x')));

  EXPECT_EQ(result.status.exit_code, 6);
}

constexpr Behaviour kBehaviours[] = {
    {"closed_stdin_is_at_its_end", closed_stdin_is_at_its_end},
    {"stdin_arrives_and_ends", stdin_arrives_and_ends},
    {"output_comes_while_stdin_is_open", output_comes_while_stdin_is_open},
    {"ten_megabytes_flow_through", ten_megabytes_flow_through},
    {"one_large_write_arrives_whole", one_large_write_arrives_whole},
    {"writing_waits_while_the_process_does_not_read",
     writing_waits_while_the_process_does_not_read},
    {"writing_to_a_process_that_closed_its_stdin_fails",
     writing_to_a_process_that_closed_its_stdin_fails},
    {"writing_to_a_finished_process_fails", writing_to_a_finished_process_fails},
    {"writing_without_an_open_stdin_fails", writing_without_an_open_stdin_fails},
    {"a_process_that_ignores_its_stdin_still_ends", a_process_that_ignores_its_stdin_still_ends},
};

}  // namespace

std::span<const Behaviour> stdin_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
