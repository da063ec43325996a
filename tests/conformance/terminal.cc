// Terminals: a command that has one sees what a person's terminal would be.
#include <gmock/gmock.h>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::HasSubstr;

ExecRequest with_terminal(ExecRequest request, TerminalSize size = {}) {
  request.terminal = size;
  request.stdin_mode = StdinMode::open;
  return request;
}

// Reads until `text` has been shown, and gives all of it.
std::string read_until(DriverWorld& world, Process& process, std::string_view text) {
  std::string shown;
  while (shown.find(text) == std::string::npos) {
    auto event = must(world.run(process.next()));
    const auto* output = std::get_if<Output>(&event);
    if (output == nullptr) {
      ADD_FAILURE() << "it ends without having shown " << text << ", but " << shown;
      break;
    }
    EXPECT_EQ(output->stream, Stream::out);
    shown += output->bytes;
  }
  return shown;
}

struct Rest {
  std::string shown;
  ExitStatus status;
};

// What is shown from here on, to the end.
Rest read_rest(DriverWorld& world, Process& process) {
  Rest rest;
  for (;;) {
    auto event = must(world.run(process.next()));
    if (const auto* status = std::get_if<ExitStatus>(&event)) {
      rest.status = *status;
      return rest;
    }
    if (const auto* output = std::get_if<Output>(&event)) rest.shown += output->bytes;
  }
}

void all_three_are_one_terminal(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(
      sh_request("test -t 0 && test -t 1 && test -t 2 && tty && echo to stderr >&2; echo $TERM")));

  const auto result = box.read_to_end(*process);

  EXPECT_EQ(result.status.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("/dev/pts/"));
  EXPECT_THAT(result.out, HasSubstr("to stderr\r\nxterm-256color\r\n"));
  EXPECT_EQ(result.err, "");
}

void it_has_the_size_that_was_asked_for(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(sh_request("stty size; read line; stty size"), {31, 97}));

  EXPECT_THAT(read_until(world, *process, "31 97"), HasSubstr("31 97"));
  must(world.run(box.guest().resize(process->id(), {50, 200})));
  must(world.run(process->write_stdin("go\n")));

  EXPECT_THAT(read_rest(world, *process).shown, HasSubstr("50 200"));
}

void it_is_the_controlling_terminal_of_its_user(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(sh_request(
      "test -O $(tty) && echo it is mine; echo through the door > /dev/tty; ps -o tty= -p $$")));

  const auto result = box.read_to_end(*process);

  EXPECT_THAT(result.out, HasSubstr("it is mine\r\nthrough the door\r\npts/"));
}

void keys_become_signals(DriverWorld& world) {
  Box box(world);
  auto process = box.start(
      with_terminal(sh_request("trap 'exit 42' INT; echo ready; while :; do sleep 0.05; done")));
  read_until(world, *process, "ready");

  must(world.run(process->write_stdin("\x03")));

  EXPECT_EQ(read_rest(world, *process).status.exit_code, 42);
}

void closing_stdin_types_the_end(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(request_of({"cat"})));
  must(world.run(process->write_stdin("line\n")));

  must(world.run(process->close_stdin()));

  const auto result = box.read_to_end(*process);
  EXPECT_EQ(result.status.exit_code, 0);
  EXPECT_EQ(result.out, "line\r\nline\r\n");
}

void all_of_its_output_comes(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(
      sh_request("stty raw; i=0; while [ $i -lt 2000 ]; do printf %0500d $i; i=$((i+1)); done")));

  const auto result = box.read_to_end(*process);

  EXPECT_EQ(result.out.size(), 1'000'000U);
  EXPECT_TRUE(result.out.ends_with("01999"));
  EXPECT_EQ(result.status.usage.stdout_bytes, 1'000'000U);
}

void it_is_followed_again_from_where_it_was_left(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(request_of({"cat"})));
  must(world.run(process->write_stdin("one\n")));
  const std::string shown = read_until(world, *process, "one\r\none\r\n");
  const ProcessId id = process->id();
  process.reset();

  auto again = must(world.run(box.guest().attach(id, {shown.size(), 0})));
  must(world.run(again->write_stdin("two\n")));
  must(world.run(again->close_stdin()));

  EXPECT_EQ(read_rest(world, *again).shown, "two\r\ntwo\r\n");
}

void what_has_no_terminal_has_no_size(DriverWorld& world) {
  Box box(world);
  auto process = box.start(request_of({"sleep", "1000"}));

  const auto resized = world.run(box.guest().resize(process->id(), {10, 10}));
  const auto missing = world.run(box.guest().resize(process->id() + 1000, {10, 10}));

  ASSERT_FALSE(resized.has_value());
  EXPECT_EQ(resized.error().code(), Code::conflict);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), Code::not_found);
}

void who_holds_it_on_does_not_hold_up_the_end(DriverWorld& world) {
  Box box(world);
  auto process = box.start(with_terminal(sh_request("trap '' HUP; sleep 1000 & echo left")));

  const auto result = box.read_to_end(*process);

  EXPECT_EQ(result.status.exit_code, 0);
  EXPECT_EQ(result.out, "left\r\n");
}

bool has_terminals(const Subject& subject) { return subject.can.pty; }
// gVisor's own have no /dev/tty and no end of file that could be typed.
bool has_the_hosts_terminals(const Subject& subject) {
  return has_terminals(subject) && subject.can.isolation != Isolation::sentry;
}

constexpr Behaviour kBehaviours[] = {
    {"all_three_are_one_terminal", all_three_are_one_terminal, has_terminals},
    {"it_has_the_size_that_was_asked_for", it_has_the_size_that_was_asked_for, has_terminals},
    {"it_is_the_controlling_terminal_of_its_user", it_is_the_controlling_terminal_of_its_user,
     has_the_hosts_terminals},
    {"keys_become_signals", keys_become_signals, has_terminals},
    {"closing_stdin_types_the_end", closing_stdin_types_the_end, has_the_hosts_terminals},
    {"all_of_its_output_comes", all_of_its_output_comes, has_terminals},
    {"it_is_followed_again_from_where_it_was_left", it_is_followed_again_from_where_it_was_left,
     has_the_hosts_terminals},
    {"what_has_no_terminal_has_no_size", what_has_no_terminal_has_no_size, has_terminals},
    {"who_holds_it_on_does_not_hold_up_the_end", who_holds_it_on_does_not_hold_up_the_end,
     has_terminals},
};

}  // namespace

std::span<const Behaviour> terminal_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
