// Starting commands: arguments, environment, working directory, exit codes, and requests that
// cannot be right.
#include <gmock/gmock.h>

#include "base/text.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void exec_reports_the_exit_code(DriverWorld& world) {
  Box box(world);

  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
  const auto seven = box.sh("exit 7").status;
  EXPECT_EQ(seven.exit_code, 7);
  EXPECT_EQ(seven.reason, ExitReason::exited);
  EXPECT_EQ(seven.signal, 0);
}

void a_missing_program_is_127(DriverWorld& world) {
  Box box(world);

  const auto by_name = box.exec({"no-such-program"});
  const auto by_path = box.exec({"./no/such/program"});

  EXPECT_EQ(by_name.status.exit_code, 127);
  EXPECT_THAT(by_name.err, HasSubstr("no-such-program"));
  EXPECT_EQ(by_path.status.exit_code, 127);
}

void a_file_that_is_no_program_is_126(DriverWorld& world) {
  Box box(world);
  box.write("data", "not a program", 0644);

  const auto result = box.exec({"./data"});

  EXPECT_EQ(result.status.exit_code, 126);
  EXPECT_NE(result.err, "");
}

void a_script_runs_by_its_first_line(DriverWorld& world) {
  Box box(world);
  box.write("hello", "#!/bin/sh\necho hello $1\n", 0755);

  EXPECT_EQ(box.exec({"./hello", "there"}).out, "hello there\n");
}

void arguments_arrive_byte_exact(DriverWorld& world) {
  Box box(world);
  const std::vector<std::string> arguments{
      "two words", "'single' \"double\"",    "line\nbreak", "\\ $HOME `x` *",
      "",          "\xff\xfe\x80 not UTF-8", "ünïcode",     std::string(100'000, 'x')};

  std::vector<std::string> argv{"arguments"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const auto result = box.probe(argv);

  std::string expected;
  for (const auto& argument : arguments) expected += argument + '\0';
  EXPECT_TRUE(result.out == expected) << to_printable(result.out.substr(0, 200));
}

std::vector<std::string> environment_of(const ExecResult& result) {
  return split(result.out, '\0');
}

void the_environment_of_the_sandbox_reaches_commands(DriverWorld& world) {
  Box box(world, spec_with({{"COLOUR", "green"}, {"EMPTY", ""}, {"BYTES", "\xff\n\"x\""}}));

  const auto environment = environment_of(box.probe({"environment"}));

  EXPECT_THAT(environment, Contains("COLOUR=green"));
  EXPECT_THAT(environment, Contains("EMPTY="));
  EXPECT_THAT(environment, Contains("BYTES=\xff\n\"x\""));
}

void the_environment_of_a_request_wins(DriverWorld& world) {
  Box box(world, spec_with({{"COLOUR", "green"}, {"SHAPE", "round"}}));
  auto request = sh_request("echo $COLOUR $SHAPE $SIZE");
  request.env = {{"COLOUR", "red"}, {"SIZE", "large"}};

  EXPECT_EQ(must(box.try_exec(std::move(request))).out, "red round large\n");
  EXPECT_EQ(box.sh("echo $COLOUR $SIZE").out, "green\n");
}

void the_environment_of_the_host_does_not_leak_in(DriverWorld& world) {
  setenv("ATOLL_CONFORMANCE_CANARY", "sings", 1);
  Box box(world);

  EXPECT_THAT(environment_of(box.probe({"environment"})), Not(Contains(HasSubstr("CANARY"))));
}

void commands_find_what_every_program_expects(DriverWorld& world) {
  Box box(world);

  const auto environment = environment_of(box.probe({"environment"}));

  for (const char* name : {"PATH=/", "HOME=/", "PWD=/", "TMPDIR=/", "ATOLL_SANDBOX_ID=sbx"}) {
    EXPECT_THAT(environment, Contains(StartsWith(name)));
  }
  auto request = sh_request("echo $ATOLL_SANDBOX_ID");
  request.env["ATOLL_SANDBOX_ID"] = "another";
  EXPECT_THAT(must(box.try_exec(std::move(request))).out, StartsWith("sbx"));
  EXPECT_EQ(box.sh("cd \"$HOME\" && : > \"$TMPDIR/x\" && : > \"$HOME/x\" && echo fine").out,
            "fine\n");
}

ExecRequest pwd_in(std::string cwd) {
  auto request = sh_request("pwd -P; echo $PWD");
  request.cwd = std::move(cwd);
  return request;
}

void the_working_directory_is_the_workspace(DriverWorld& world) {
  Box box(world);
  box.write("here", "");

  EXPECT_EQ(box.sh("ls").out, "here\n");
  const auto paths = split(must(box.try_exec(pwd_in(""))).out, '\n');
  ASSERT_GE(paths.size(), 2U);
  EXPECT_EQ(paths[0], paths[1]);
}

void a_working_directory_may_be_relative(DriverWorld& world) {
  Box box(world);
  must(world.run(box.guest().mkdir("a/b", Parents::create)));

  EXPECT_THAT(must(box.try_exec(pwd_in("a/b"))).out, HasSubstr("/a/b\n"));
}

void a_working_directory_may_begin_with_workspace(DriverWorld& world) {
  Box box(world);
  must(world.run(box.guest().mkdir("a", Parents::must_exist)));

  EXPECT_EQ(must(box.try_exec(pwd_in("/workspace/a"))).out, must(box.try_exec(pwd_in("a"))).out);
}

void a_missing_working_directory_is_not_found(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::not_found, box.try_exec(pwd_in("no/such/place")));
}

void a_working_directory_cannot_climb_out(DriverWorld& world) {
  Box box(world);
  box.sh("ln -s / root; mkdir a; ln -s ../.. a/up");

  if (world.can().own_root) {
    // There is an outside of the workspace, but none of the sandbox.
    for (const char* cwd :
         {"..", "a/../..", "../../../..", "root", "a/up", "/workspace/..", "/.."}) {
      EXPECT_EQ(must(box.try_exec(pwd_in(cwd))).out, "/\n/\n") << cwd;
    }
    EXPECT_EQ(must(box.try_exec(request_of({"ls", "-di", "/.."}))).out.substr(0, 3),
              must(box.try_exec(request_of({"ls", "-di", "/"}))).out.substr(0, 3));
    return;
  }
  for (const char* cwd : {"..", "a/../..", "root", "root/etc", "a/up", "/workspace/.."}) {
    EXPECT_CODE(Code::permission_denied, box.try_exec(pwd_in(cwd)));
  }
}

void a_working_directory_outside_is_refused(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::permission_denied, box.try_exec(pwd_in("/")));
  EXPECT_CODE(Code::permission_denied, box.try_exec(pwd_in("/etc")));
}

void empty_argv_is_refused(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::invalid_argument, box.try_exec(request_of({})));
  EXPECT_CODE(Code::invalid_argument, box.try_exec(request_of({""})));
}

void a_nul_byte_is_refused(DriverWorld& world) {
  Box box(world);
  const std::string nul("a\0b", 3);
  auto in_value = request_of({"true"});
  in_value.env = {{"NAME", nul}};
  auto in_directory = request_of({"true"});
  in_directory.cwd = nul;

  EXPECT_CODE(Code::invalid_argument, box.try_exec(request_of({"echo", nul})));
  EXPECT_CODE(Code::invalid_argument, box.try_exec(std::move(in_value)));
  EXPECT_CODE(Code::invalid_argument, box.try_exec(std::move(in_directory)));
}

void a_malformed_variable_is_refused(DriverWorld& world) {
  Box box(world);
  for (const char* name : {"", "A=B"}) {
    auto request = request_of({"true"});
    request.env = {{name, "x"}};

    EXPECT_CODE(Code::invalid_argument, box.try_exec(std::move(request)));
  }
}

void huge_arguments_are_refused_and_hurt_nobody(DriverWorld& world) {
  Box box(world);

  const auto one_huge = box.try_exec(request_of({"true", std::string(4 << 20, 'x')}));
  const auto very_many = box.try_exec(request_of(std::vector<std::string>(50'000, "true")));
  // More than the kernel takes in one argument, though not more than we do.
  const auto over_the_kernels_limit = box.try_exec(request_of({"true", std::string(300'000, 'x')}));

  EXPECT_FALSE(one_huge.has_value());
  EXPECT_FALSE(very_many.has_value());
  if (over_the_kernels_limit) EXPECT_EQ(over_the_kernels_limit->status.exit_code, 126);
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void an_unknown_user_is_refused(DriverWorld& world) {
  Box box(world);
  auto request = request_of({"id"});
  request.user = "nobody-of-that-name";

  EXPECT_FALSE(box.try_exec(std::move(request)).has_value());
}

bool shares_the_root_and_is_confined(const Subject& subject) {
  return !subject.can.own_root && subject.can.isolation >= Isolation::process;
}

constexpr Behaviour kBehaviours[] = {
    {"exec_reports_the_exit_code", exec_reports_the_exit_code},
    {"a_missing_program_is_127", a_missing_program_is_127},
    {"a_file_that_is_no_program_is_126", a_file_that_is_no_program_is_126},
    {"a_script_runs_by_its_first_line", a_script_runs_by_its_first_line},
    {"arguments_arrive_byte_exact", arguments_arrive_byte_exact},
    {"the_environment_of_the_sandbox_reaches_commands",
     the_environment_of_the_sandbox_reaches_commands},
    {"the_environment_of_a_request_wins", the_environment_of_a_request_wins},
    {"the_environment_of_the_host_does_not_leak_in", the_environment_of_the_host_does_not_leak_in},
    {"commands_find_what_every_program_expects", commands_find_what_every_program_expects},
    {"the_working_directory_is_the_workspace", the_working_directory_is_the_workspace},
    {"a_working_directory_may_be_relative", a_working_directory_may_be_relative},
    {"a_working_directory_may_begin_with_workspace", a_working_directory_may_begin_with_workspace},
    {"a_missing_working_directory_is_not_found", a_missing_working_directory_is_not_found},
    {"a_working_directory_cannot_climb_out", a_working_directory_cannot_climb_out},
    {"a_working_directory_outside_is_refused", a_working_directory_outside_is_refused,
     shares_the_root_and_is_confined},
    {"empty_argv_is_refused", empty_argv_is_refused},
    {"a_nul_byte_is_refused", a_nul_byte_is_refused},
    {"a_malformed_variable_is_refused", a_malformed_variable_is_refused},
    {"huge_arguments_are_refused_and_hurt_nobody", huge_arguments_are_refused_and_hurt_nobody},
    {"an_unknown_user_is_refused", an_unknown_user_is_refused},
};

}  // namespace

std::span<const Behaviour> exec_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
