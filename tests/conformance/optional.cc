// What only some drivers can do; the others say so.
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using namespace std::chrono_literals;

bool can_pause(const Subject& subject) { return subject.can.pause != Pause::none; }
bool can_resize(const Subject& subject) { return subject.can.resize; }

void pause_holds_processes_until_resume(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("echo begun; while [ ! -e go ]; do :; done; echo went on");
  must(world.run(process->next()));

  must(world.run(box.sandbox().pause()));
  must(world.run(box.sandbox().resume()));
  box.write("go", "");

  EXPECT_EQ(box.read_to_end(*process, {6, 0}).out, "went on\n");
}

void pause_says_that_it_is_unsupported(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::unsupported, world.run(box.sandbox().pause()));
  EXPECT_CODE(Code::unsupported, world.run(box.sandbox().resume()));
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void resize_changes_a_running_sandbox(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("sleep 1000");

  must(world.run(box.sandbox().resize({.memory_mb = 128})));

  EXPECT_TRUE(box.info_of(process->id()).running);
}

void resize_says_that_it_is_unsupported(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::unsupported, world.run(box.sandbox().resize({.memory_mb = 128})));
}

constexpr Behaviour kBehaviours[] = {
    {"pause_holds_processes_until_resume", pause_holds_processes_until_resume, can_pause,
     pause_says_that_it_is_unsupported},
    {"resize_changes_a_running_sandbox", resize_changes_a_running_sandbox, can_resize,
     resize_says_that_it_is_unsupported},
};

}  // namespace

std::span<const Behaviour> optional_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
