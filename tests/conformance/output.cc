// stdout and stderr: complete, in order, byte for byte, bounded when nobody reads, resumable when
// somebody comes back.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/conformance/pattern.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr size_t kMiB = 1 << 20;
// What may be under way between a process and a client that does not read: windows, rings and
// pipes.
constexpr uint64_t kMostUnderWay = 16 * kMiB;

std::string pattern(uint64_t from, size_t count) {
  std::string bytes(count, '\0');
  fill_pattern(bytes.data(), from, count);
  return bytes;
}

ExecRequest probe_request(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "./conformance_probe");
  return request_of(std::move(arguments));
}

// Reads to the end and compares piece by piece, so that a hundred megabytes need not be kept.
Task<uint64_t> verify_pattern(Process& process) {
  uint64_t next = 0;
  std::string expected;
  for (;;) {
    CO_TRY(auto event, co_await process.next());
    if (std::holds_alternative<ExitStatus>(event)) co_return next;
    const auto* output = std::get_if<Output>(&event);
    if (output == nullptr) co_return Error(Code::internal, "a gap at " + std::to_string(next));
    if (output->offset != next)
      co_return Error(Code::internal, "a jump at " + std::to_string(next));
    expected.resize(output->bytes.size());
    fill_pattern(expected.data(), next, expected.size());
    if (output->bytes != expected)
      co_return Error(Code::internal, "other bytes after " + std::to_string(next));
    next += output->bytes.size();
  }
}

void stdout_and_stderr_are_apart(DriverWorld& world) {
  Box box(world);

  const auto result = box.sh("echo one; echo two >&2; echo three");

  EXPECT_EQ(result.out, "one\nthree\n");
  EXPECT_EQ(result.err, "two\n");
}

void output_is_byte_exact(DriverWorld& world) {
  Box box(world);
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  bytes += "\xc3\x28 \xff no newline at the end";
  box.write("bytes", bytes);

  const auto result = box.sh("cat bytes; cat bytes >&2");

  EXPECT_TRUE(result.out == bytes);
  EXPECT_TRUE(result.err == bytes);
}

void a_hundred_megabytes_arrive_complete(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  constexpr uint64_t kTotal = 100 * 1000 * 1000;
  auto process = box.start(probe_request({"output", std::to_string(kTotal)}));

  EXPECT_EQ(must(world.run(verify_pattern(*process))), kTotal);
}

void a_slow_reader_slows_the_process(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  constexpr uint64_t kTotal = 48 * kMiB;
  auto process = box.start(probe_request({"output_until_held", std::to_string(kTotal), "held"}));

  const uint64_t taken = std::stoull(box.wait_for_file("held"));
  const bool still_runs = box.info_of(process->id()).running;

  EXPECT_LT(taken, kMostUnderWay);
  EXPECT_TRUE(still_runs);
  EXPECT_EQ(must(world.run(verify_pattern(*process))), kTotal);
}

// The process ends while much of what it wrote has not been read: in the client's window, the ring
// and the pipe.
void output_outlives_the_process_for_a_slow_reader(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  for (const uint64_t total : {kMiB, 3 * kMiB, 3 * kMiB + 500'000, 4 * kMiB - 1}) {
    auto process = box.start(probe_request({"output_until_held", std::to_string(total), "held"}));
    box.wait_for_file("held");
    must(world.run(box.guest().remove("held", Recursive::no)));
    world.eventually([&] { return !box.info_of(process->id()).running; }, 300ms);

    EXPECT_EQ(must(world.run(verify_pattern(*process))), total);
  }
}

void the_end_does_not_wait_for_a_child_that_holds_stdout(DriverWorld& world) {
  Box box(world);

  const auto result = box.sh("sleep 1000 & echo done");

  EXPECT_EQ(result.out, "done\n");
  EXPECT_LT(result.status.duration, 10s);
}

void a_child_that_never_stops_writing_does_not_hold_the_end_back(DriverWorld& world) {
  Box box(world);
  box.put_probe();

  const auto result = box.sh("./conformance_probe output 1000000000000 & exit 4");

  EXPECT_EQ(result.status.exit_code, 4);
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void what_nobody_reads_is_dropped_and_the_gap_is_told(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  constexpr uint64_t kTotal = 12 * kMiB;
  auto process =
      box.start_sh("until [ -e go ]; do sleep 0.01; done; exec ./conformance_probe output " +
                   std::to_string(kTotal));
  const ProcessId id = process->id();
  process.reset();
  box.write("go", "");
  box.wait_until_ended(id);

  auto late = must(world.run(box.guest().attach(id, {})));
  const auto told = box.read_to_end(*late);
  const auto info = box.info_of(id);

  ASSERT_THAT(told.gaps, SizeIs(1));
  EXPECT_EQ(told.gaps[0].stream, Stream::out);
  EXPECT_EQ(told.gaps[0].from, 0U);
  EXPECT_EQ(told.gaps[0].to + told.out.size(), kTotal);
  EXPECT_GE(told.out.size(), 64U * 1024);
  EXPECT_LE(told.out.size(), kMostUnderWay);
  EXPECT_TRUE(told.out == pattern(told.gaps[0].to, told.out.size()));
  EXPECT_EQ(info.stdout_first, told.gaps[0].to);
  EXPECT_EQ(info.stdout_end, kTotal);
  EXPECT_EQ(told.status.usage.stdout_bytes, kTotal);
}

void attach_resumes_at_an_offset(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  constexpr uint64_t kTotal = 900'000;
  auto process = box.start(probe_request({"output", std::to_string(kTotal)}));
  const auto whole = box.read_to_end(*process);

  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{500'001}, kTotal}) {
    auto again = must(world.run(box.guest().attach(process->id(), {offset, 0})));
    const auto rest = box.read_to_end(*again, {offset, 0});

    EXPECT_TRUE(rest.out == whole.out.substr(offset)) << "from " << offset;
    EXPECT_EQ(rest.status.exit_code, 0);
  }
}

void a_reader_that_comes_and_goes_loses_nothing(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh(
      "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); [ -e go ] || sleep 0.005; done");
  const ProcessId id = process->id();
  std::string got;
  for (int turn = 0; turn < 10; ++turn) {
    auto event = must(world.run(process->next()));
    ASSERT_TRUE(std::holds_alternative<Output>(event));
    ASSERT_EQ(std::get<Output>(event).offset, got.size());
    got += std::get<Output>(event).bytes;

    process = must(world.run(box.guest().attach(id, {got.size(), 0})));
  }
  box.write("go", "");
  got += box.read_to_end(*process, {got.size(), 0}).out;

  EXPECT_EQ(got, box.sh("seq -f 'line %g' 0 199").out);
}

void attach_beyond_the_end_is_refused(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("echo 123");
  box.read_to_end(*process);

  EXPECT_CODE(Code::invalid_argument, world.run(box.guest().attach(process->id(), {5, 0})));
  EXPECT_CODE(Code::invalid_argument, world.run(box.guest().attach(process->id(), {0, 1})));
}

void two_readers_see_the_same(DriverWorld& world) {
  Box box(world);
  auto first = box.start_sh("until [ -e go ]; do sleep 0.01; done; seq 1 1000");
  auto second = must(world.run(box.guest().attach(first->id(), {})));
  box.write("go", "");

  const auto of_first = box.read_to_end(*first);
  const auto of_second = box.read_to_end(*second);

  EXPECT_EQ(of_first.out.size(), 3893U);
  EXPECT_EQ(of_first.out, of_second.out);
}

void a_process_outlives_its_client(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh("until [ -e go ]; do sleep 0.01; done; echo went on > proof");
  const ProcessId id = process->id();

  process.reset();
  EXPECT_TRUE(box.info_of(id).running);
  box.write("go", "");
  box.wait_until_ended(id);

  EXPECT_EQ(box.read("proof"), "went on\n");
}

bool has_direct_stdio(const Subject& subject) { return subject.can.direct_stdio; }

struct Pipe {
  Fd read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) stop_case("no pipe", Where::current());
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string read_all(const Fd& fd) {
  std::string bytes;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    bytes.append(buffer, static_cast<size_t>(got));
  return bytes;
}

struct DirectRun {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();

  ExecRequest request(std::string script) {
    auto request = sh_request(std::move(script));
    request.stdio = StdioMode::direct;
    request.direct = {std::move(in.read_end), std::move(out.write_end), std::move(err.write_end)};
    return request;
  }
};

void direct_stdio_is_the_callers_own(DriverWorld& world) {
  Box box(world);
  DirectRun run;
  auto process = box.start(run.request("read line; echo out $line; echo err >&2; exit 3"));
  ASSERT_EQ(::write(run.in.write_end.get(), "hello\n", 6), 6);

  const auto told = box.read_to_end(*process);

  EXPECT_EQ(told.status.exit_code, 3);
  EXPECT_THAT(told.out, IsEmpty());
  EXPECT_EQ(read_all(run.out.read_end), "out hello\n");
  EXPECT_EQ(read_all(run.err.read_end), "err\n");
}

void a_direct_process_ends_with_its_handle(DriverWorld& world) {
  Box box(world);
  DirectRun run;
  auto process = box.start(run.request("echo up; sleep 1000 & sleep 1000"));
  const ProcessId id = process->id();
  char up[3];
  ASSERT_EQ(::read(run.out.read_end.get(), up, 3), 3);

  process.reset();
  box.wait_until_ended(id);

  EXPECT_EQ(box.info_of(id).status.reason, ExitReason::killed);
  EXPECT_EQ(read_all(run.out.read_end),
            "");  // the end of file: nobody of the tree holds it any more
}

void a_direct_process_ends_with_its_client(DriverWorld& world) {
  Box box(world);
  DirectRun run;
  auto process = box.start(run.request("echo up; sleep 1000"));
  const ProcessId id = process->id();

  process.reset();
  box.reattach();
  box.wait_until_ended(id);

  EXPECT_EQ(box.info_of(id).status.reason, ExitReason::killed);
}

bool limits_output(const Subject& subject) { return subject.can.limits.output != Limit::none; }

void too_much_output_ends_the_process_by_policy(DriverWorld& world) {
  Box box(world);
  box.put_probe();
  auto request = probe_request({"output", "1000000000000"});
  request.output_limit = 300'000;

  const auto result = must(box.try_exec(std::move(request)));

  EXPECT_EQ(result.status.reason, ExitReason::policy);
  EXPECT_EQ(result.status.exit_code, 126);
  EXPECT_GE(result.out.size(), 300'000U);
  EXPECT_LE(result.out.size(), 300'000U + 4 * kMiB);
}

void output_within_its_limit_is_left_alone(DriverWorld& world) {
  Box box(world);
  auto request = sh_request("printf 12345; printf 12345 >&2");
  request.output_limit = 10;

  const auto result = must(box.try_exec(std::move(request)));

  EXPECT_EQ(result.status.reason, ExitReason::exited);
  EXPECT_EQ(result.out, "12345");
}

constexpr Behaviour kBehaviours[] = {
    {"stdout_and_stderr_are_apart", stdout_and_stderr_are_apart},
    {"output_is_byte_exact", output_is_byte_exact},
    {"a_hundred_megabytes_arrive_complete", a_hundred_megabytes_arrive_complete},
    {"a_slow_reader_slows_the_process", a_slow_reader_slows_the_process},
    {"output_outlives_the_process_for_a_slow_reader",
     output_outlives_the_process_for_a_slow_reader},
    {"the_end_does_not_wait_for_a_child_that_holds_stdout",
     the_end_does_not_wait_for_a_child_that_holds_stdout},
    {"a_child_that_never_stops_writing_does_not_hold_the_end_back",
     a_child_that_never_stops_writing_does_not_hold_the_end_back},
    {"what_nobody_reads_is_dropped_and_the_gap_is_told",
     what_nobody_reads_is_dropped_and_the_gap_is_told},
    {"attach_resumes_at_an_offset", attach_resumes_at_an_offset},
    {"a_reader_that_comes_and_goes_loses_nothing", a_reader_that_comes_and_goes_loses_nothing},
    {"attach_beyond_the_end_is_refused", attach_beyond_the_end_is_refused},
    {"two_readers_see_the_same", two_readers_see_the_same},
    {"a_process_outlives_its_client", a_process_outlives_its_client},
    {"direct_stdio_is_the_callers_own", direct_stdio_is_the_callers_own, has_direct_stdio},
    {"a_direct_process_ends_with_its_handle", a_direct_process_ends_with_its_handle,
     has_direct_stdio},
    {"a_direct_process_ends_with_its_client", a_direct_process_ends_with_its_client,
     has_direct_stdio},
    {"too_much_output_ends_the_process_by_policy", too_much_output_ends_the_process_by_policy,
     limits_output},
    {"output_within_its_limit_is_left_alone", output_within_its_limit_is_left_alone, limits_output},
};

}  // namespace

std::span<const Behaviour> output_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
